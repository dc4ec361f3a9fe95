// The shipped gateway, as bundled by wrangler. GET /bench/steps returns the number of the core's steps so far.
import { counted } from './counting.js'
import gateway from './index.js'

export { Directory, KeyMeter, Ledger } from './index.js'

export default {
  fetch: (request, env, ctx) =>
    request.url.endsWith('/bench/steps') ? Response.json(counted) : gateway.fetch(request, env, ctx),
}
