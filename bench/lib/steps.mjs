// Measures the core alone: steps on one instance in Node's V8, called through the Worker's Engine.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Engine } from '../../worker/gateway/src/engine.ts'
import { median } from './load.mjs'
import { QUICK } from './options.mjs'
import { ROOT } from './process.mjs'
import { mib, ms, row } from './table.mjs'

const NOW_MS = 1_790_000_000_000
const [EVENT_REQUEST, EVENT_BODY] = [1, 2]
const BODY_ID = 1
const ROUNDS = QUICK ? 3 : 7
const ROUND_MS = 200
const EXCHANGES = QUICK ? 10_000 : 1_000_000
const NOTHING = new Uint8Array()
const SENTENCE = 'The quick brown fox said "naïve café" — and jumped over the lazy dog.\n'

class MeasuredEngine extends Engine {
  get memoryBytes() {
    return this.exports.memory.buffer.byteLength
  }
}

function newEngine() {
  const module = new WebAssembly.Module(readFileSync(join(ROOT, 'build/core.wasm')))
  const engine = new MeasuredEngine(module, readFileSync(join(ROOT, 'core/catalog/catalog.bin')))
  const { error } = engine.start({})
  if (error !== '') throw new Error(error)
  return engine
}

function head(engine, key) {
  const headers = [':id', 'req_1', ':method', 'POST', ':path', '/api/ai/complete', ':query', '']
  headers.push('content-type', 'application/json', 'x-api-key', key)
  const event = { kind: EVENT_REQUEST, id: 0, code: 0, headers, data: new Uint8Array(16) }
  return engine.step(NOW_MS, NOTHING, NOTHING, NOTHING, NOTHING, event)
}

/** A chat request of about the given number of bytes, as JSON. */
function chat(bytes) {
  const messages = []
  for (let length = 0; length < bytes; length += messages.at(-1).content.length + 40) {
    const content = SENTENCE.repeat(Math.max(1, Math.min(25, Math.round(bytes / 100))))
    messages.push({ role: messages.length % 2 ? 'assistant' : 'user', content })
  }
  return JSON.stringify({ messages, quality: 'balanced', temperature: 0.5 })
}

/** Milliseconds per call of work, averaged over a short round. */
function round(work) {
  const start = performance.now()
  let calls = 0
  while (performance.now() - start < ROUND_MS) {
    work()
    calls++
  }
  return (performance.now() - start) / calls
}

/** The step that reads a body, compared to JSON.parse and JSON.stringify of the same text in the same V8. */
export function steps(key) {
  const rows = []
  for (const [name, bytes, most] of [
    ['step, body of 1 KB', 1e3],
    ['step, body of 32 KB', 32e3],
    ['step, body of 1 MB', 1e6, 1.5],
  ]) {
    const engine = newEngine()
    const state = head(engine, key).state.slice() // copied, because the original is valid only until the next step
    const text = chat(bytes)
    const event = { kind: EVENT_BODY, id: BODY_ID, code: 0, headers: [], data: new TextEncoder().encode(text) }
    const ours = () => engine.step(NOW_MS, NOTHING, state, NOTHING, NOTHING, event)
    if (ours().actions.length === 0) throw new Error('the step did nothing')
    const pairs = Array.from({ length: ROUNDS }, () => [round(ours), round(() => JSON.stringify(JSON.parse(text)))])
    const value = median(pairs.map(([a, b]) => a / b))
    const note = most === undefined ? '' : `wasm memory ${mib(engine.memoryBytes)}`
    rows.push(
      row(
        `${name}, against JSON.parse and JSON.stringify`,
        ms(median(pairs.map(([a]) => a))),
        ms(median(pairs.map(([, b]) => b))),
        value,
        { most, note },
      ),
    )
    if (most !== undefined && engine.memoryBytes >= 16 << 20) throw new Error('a body of 1 MB takes 16 MiB or more')
  }
  return rows
}

/** Runs small exchanges on one instance. Memory must not grow after the first thousand. */
export function memory(key) {
  const engine = newEngine()
  const data = new TextEncoder().encode(chat(100))
  const exchange = () => {
    const state = head(engine, key).state.slice() // copied, because the original is valid only until the next step
    engine.step(NOW_MS, NOTHING, state, NOTHING, NOTHING, { kind: EVENT_BODY, id: BODY_ID, code: 0, headers: [], data })
  }
  for (let i = 0; i < 1000; i++) exchange()
  const before = engine.memoryBytes
  for (let i = 1000; i < EXCHANGES; i++) exchange()
  if (engine.memoryBytes !== before) throw new Error(`memory grew from ${before} to ${engine.memoryBytes} bytes`)
  return row(
    `wasm memory after ${EXCHANGES.toLocaleString('en')} exchanges, against after 1,000`,
    mib(engine.memoryBytes),
    mib(before),
    1,
    {
      most: 1,
    },
  )
}
