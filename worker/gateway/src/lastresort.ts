import { type Bytes, type Configured, REQUEST_ID_HEADER } from './abi.ts'
import { joined } from './buffers.ts'
import { httpResponse } from './response.ts'

/** The error response for a failed step. The core prepares it. */
export type LastResort = Pick<Configured, 'lastResortStatus' | 'lastResortHeaders' | 'lastResortBody'>

const encoder = new TextEncoder()

/**
 * The response that is sent when the core's module cannot run at all. If it can run, the core prepares this response.
 * This is a copy of fault.Internal. It is compared with testdata/abi/lastresort.json, which the core's tests write.
 */
export const UNCONFIGURED: LastResort = {
  lastResortStatus: 500,
  lastResortHeaders: ['content-type', 'application/json', 'cache-control', 'private, no-store'],
  lastResortBody: [
    encoder.encode('{"error":"Internal error","code":"internal_error","requestId":"') as Bytes,
    encoder.encode('"}') as Bytes,
  ],
}

/** The last-resort response to one request. */
export function lastResort(
  { lastResortStatus, lastResortHeaders, lastResortBody }: LastResort,
  method: string,
  id: string,
): Response {
  const [before, after] = lastResortBody
  const body = joined([before, encoder.encode(id) as Bytes, after])
  const response = httpResponse(method, lastResortStatus, lastResortHeaders, body)
  response.headers.set(REQUEST_ID_HEADER, id)
  return response
}
