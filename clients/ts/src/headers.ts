// Headers that the caller sets: for a client, for a call, and in a hook.
import { ConfigurationError } from './errors.js'
import { isObject } from './json.js'

/**
 * Headers of the connection itself. A second length or framing would let one request hide another. Source: RFC 9110,
 * section 7.6.1.
 */
const TRANSPORT_HEADERS = /^(connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i

/** The headers of an option, checked. An error names a header without its value, which may be secret. */
export function checkedHeaders(given: unknown): [string, string][] {
  if (!isObject(given)) throw new ConfigurationError('headers must be an object')
  const isHeaders = typeof given[Symbol.iterator as never] === 'function' // of any library
  const entries: [string, unknown][] = isHeaders ? [...(given as unknown as Headers)] : Object.entries(given)
  const set = entries.filter(([, value]) => value !== undefined)
  return set.map(([name, value]) => {
    if (/^(authorization|x-api-key)$/i.test(name)) {
      throw new ConfigurationError(`headers must not contain ${name}; the client sends its own API key`)
    }
    if (TRANSPORT_HEADERS.test(name))
      throw new ConfigurationError(`headers must not contain ${name}, which the transport sets`)
    try {
      new Headers({ [name]: value as string })
    } catch {
      throw new ConfigurationError(`headers: ${JSON.stringify(name)} is not a valid header`)
    }
    return [name, String(value)]
  })
}
