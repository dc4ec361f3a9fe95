// The control Worker with the tests' clock, which the header x-test-now-ms sets. Never shipped.
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
    const header = request.headers.get('x-test-now-ms')
    if (header !== null) nowMs = Number(header)
    return control.fetch(request, env, ctx)
  },
}
