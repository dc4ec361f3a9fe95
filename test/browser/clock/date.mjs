// Replaces Date in a Worker with one that runs from a time set by POST /__clock.
const RealDate = Date
let offsetMs = 0

globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length > 0 ? args : [RealDate.now() + offsetMs]))
  }

  static now() {
    return RealDate.now() + offsetMs
  }
}

const isClock = (request) => new URL(request.url).pathname === '/__clock'

/** Sets the clock if the request is POST /__clock with a time in ms as its body. */
export async function setClock(request) {
  if (!isClock(request)) return false
  offsetMs = Number(await request.text()) - RealDate.now()
  return true
}
