// The control Worker with a clock that can be set.

import control from '../../../worker/control/entry.mjs'
import { setClock } from './date.mjs'

export default {
  ...control,
  async fetch(request, env, ctx) {
    if (await setClock(request)) return new Response(null, { status: 204 })
    return control.fetch(request, env, ctx)
  },
}
