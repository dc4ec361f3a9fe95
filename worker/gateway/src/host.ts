import { type Configured, REQUEST_ID_BYTES, REQUEST_ID_PREFIX, SEED_BYTES } from './abi.ts'
import { Exchange } from './exchange.ts'
import type { Isolate } from './isolate.ts'
import { lastResort, UNCONFIGURED } from './lastresort.ts'
import { logFailure } from './log.ts'
import { Randomness } from './randomness.ts'
import { incoming } from './request.ts'
import type { Lifetime } from './working.ts'

const randomness = new Randomness()

/** Serves one request: the core decides, and an exchange carries out its actions. */
export function serve(isolate: Isolate, request: Request, env: Env, ctx: Lifetime): Response | Promise<Response> {
  const id = REQUEST_ID_PREFIX + randomness.take(REQUEST_ID_BYTES).toHex()
  let configured: Configured
  try {
    configured = isolate.engine.start(env)
  } catch (error) {
    logFailure('configure_failed', { requestId: id }, error)
    return lastResort(UNCONFIGURED, request.method, id)
  }
  if (configured.error !== '') {
    logFailure('misconfigured', { requestId: id, message: configured.error })
    return lastResort(configured, request.method, id)
  }
  isolate.bound(configured)
  return new Exchange(incoming(isolate, configured, request, env, id), ctx).run(randomness.take(SEED_BYTES))
}
