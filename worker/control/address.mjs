const ADDRESS = 'x-postern-address'

/**
 * Sets the caller's address, on which lockouts depend. The gateway also sets it, and passes on the header from which
 * this function sets it. A request to this Worker's own domain does not go through the gateway, so its address header
 * may contain any address. Source: developers.cloudflare.com/fundamentals/reference/http-headers/#cf-connecting-ip
 * @param {Request} request
 * @returns {Request} the same one if its address is right
 */
export function withAddress(request) {
  const address = request.headers.get('cf-connecting-ip')
  if (request.headers.get(ADDRESS) === address) return request
  const headers = new Headers(request.headers)
  if (address === null) headers.delete(ADDRESS)
  else headers.set(ADDRESS, address)
  return new Request(request, { headers })
}
