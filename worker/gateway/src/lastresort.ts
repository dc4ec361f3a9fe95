import type { Bytes, Configured } from './abi.ts'

/** What the core says to answer when no step can. */
export type LastResort = Pick<Configured, 'lastResortStatus' | 'lastResortHeaders' | 'lastResortBody'>

const encoder = new TextEncoder()

/**
 * The answer when the core cannot even be configured, because its module does not run. Otherwise the core says.
 * A copy of fault.Internal: testdata/abi/lastresort.json, which the core's tests write, holds it to that.
 */
export const UNCONFIGURED: LastResort = {
  lastResortStatus: 500,
  lastResortHeaders: ['content-type', 'application/json', 'cache-control', 'private, no-store'],
  lastResortBody: [
    encoder.encode('{"error":"Internal error","code":"internal_error","requestId":"') as Bytes,
    encoder.encode('"}') as Bytes,
  ],
}
