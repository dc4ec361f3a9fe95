// Short notices about completed actions, announced by screen readers.
const SHOWN_MS = 6000

let current = { text: '', id: 0 }
let timer
const listeners = new Set()

function show(text) {
  current = { text, id: current.id + 1 }
  for (const listener of listeners) listener(current)
}

export function notify(text) {
  clearTimeout(timer)
  show(text)
  timer = setTimeout(show, SHOWN_MS, '')
}

export function subscribe(listener) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
