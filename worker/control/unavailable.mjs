// A copy of fault.Unavailable. It is sent when the Go program does not run. The core's tests write
// testdata/abi/lastresort.json, with which the copy is compared.
export const UNAVAILABLE = {
  status: 503,
  headers: { 'content-type': 'application/json', 'cache-control': 'private, no-store' },
  body: ['{"error":"Service unavailable","code":"service_unavailable","requestId":"', '"}'],
}

const RETRY_AFTER_SECONDS = 2

/** Returns the 503 of last resort in the format of the control plane's errors. */
export function unavailable(request) {
  const given = request.headers.get('x-request-id') ?? ''
  const requestId = /^req_[0-9a-f]{32}$/.test(given) ? given : `req_${crypto.randomUUID().replaceAll('-', '')}`
  const headers = { ...UNAVAILABLE.headers, 'retry-after': String(RETRY_AFTER_SECONDS), 'x-request-id': requestId }
  return new Response(UNAVAILABLE.body.join(requestId), { status: UNAVAILABLE.status, headers })
}
