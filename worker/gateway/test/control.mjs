// The control Worker on the tests' clock: requests say what time it is. Never shipped.
import control from '../../control/entry.mjs'

const RealDate = Date
let nowMs

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    super(...(parts.length === 0 ? [Date.now()] : parts))
  }
  static now() {
    return nowMs ?? RealDate.now()
  }
}

export default {
  fetch(request, env, ctx) {
    const said = request.headers.get('x-test-now-ms')
    if (said !== null) nowMs = Number(said)
    return control.fetch(request, env, ctx)
  },
}
