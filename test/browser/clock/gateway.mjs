// The gateway Worker with a clock that can be set. It sets the control Worker's too.

import gateway from '../../../worker/gateway/src/index.ts'
import { setClock } from './date.mjs'

export { Directory, KeyMeter, Ledger } from '../../../worker/gateway/src/index.ts'

export default {
  async fetch(request, env, ctx) {
    const copy = request.clone()
    if (await setClock(request)) return env.CONTROL.fetch(copy)
    return gateway.fetch(request, env, ctx)
  },
}
