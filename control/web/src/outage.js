// Outages of the server. A load that fails because of an outage is held here and repeated. Each pause is twice as
// long as the one before.

const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 30_000

/**
 * Whether an error means that the server failed or cannot be reached. Such an error says nothing about the request
 * itself.
 */
export function isOutage(error) {
  return error?.status === 0 || error?.status >= 500
}

/** The state in which no load is held. */
const NONE = { error: undefined, trying: false, pauseMs: 0 }

/** The held loads, keyed by the function that repeats them. "trying" means that the load is being repeated. */
const held = new Map()
const listeners = new Set()
let state = NONE
let rounds = 0
let timer

function show(next) {
  state = next
  for (const listener of listeners) listener(state)
}

/**
 * Holds a load that failed because of an outage.
 * @param {() => void} retry starts the load again; the load then calls hold or settle with this function
 * @param {import('./api.js').ApiError} error
 */
export function hold(retry, error) {
  held.set(retry, { trying: false })
  if (timer === undefined) {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** rounds, LONGEST_PAUSE_MS)
    timer = setTimeout(retryNow, pauseMs)
    show({ error, trying: false, pauseMs })
  } else {
    show({ ...state, error })
  }
}

/** Stops holding a load that succeeded, failed for another reason, or is no longer needed. */
export function settle(retry) {
  if (!held.delete(retry) || held.size > 0) return
  clearTimeout(timer)
  timer = undefined
  rounds = 0
  show(NONE)
}

/** Repeats the held loads without waiting any longer. A load that is still being repeated is left alone. */
export function retryNow() {
  clearTimeout(timer)
  timer = undefined
  rounds++
  show({ ...state, trying: true })
  for (const [retry, load] of held) {
    if (load.trying) continue
    load.trying = true
    retry()
  }
}

/** Calls a listener with {error, trying, pauseMs} on each change. "error" is undefined while no load is held. */
export function subscribe(listener) {
  listeners.add(listener)
  listener(state)
  return () => listeners.delete(listener)
}
