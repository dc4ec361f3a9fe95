// Tests how src/engine.ts passes messages to the core, in build/core.wasm.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ACTION_RESPOND, EVENT_REQUEST, NO_BYTES, SEED_BYTES } from '../src/abi.ts'
import { Engine } from '../src/engine.ts'

const file = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url))
const module = new WebAssembly.Module(file('build/core.wasm'))
const catalog = file('core/catalog/catalog.bin')

function started() {
  const engine = new Engine(module, catalog)
  assert.equal(engine.start({}).error, '')
  return engine
}

// Sends a request without a key. The error that responds contains the request ID.
function refusal(engine, id, query) {
  const headers = [':id', id, ':method', 'POST', ':path', '/v1/chat/completions', ':query', query, ':address', '']
  const event = { kind: EVENT_REQUEST, id: 0, code: 0, headers, data: new Uint8Array(SEED_BYTES) }
  const { actions } = engine.step(1_790_000_000_000, NO_BYTES, NO_BYTES, NO_BYTES, NO_BYTES, event)
  const respond = actions.find(({ kind }) => kind === ACTION_RESPOND)
  return new TextDecoder().decode(respond.body[0].data)
}

test('a step gets all of its input, whatever its characters and its size', () => {
  const engine = started()
  for (const unit of ['a', 'é', '€', '😀']) {
    for (const length of [1, 15, 16, 17, 48, 49, 127, 128, 5000, 100_000]) {
      const id = unit.repeat(length)
      assert.ok(refusal(engine, id, id).includes(`"request_id":"${id}"`), `${length} times ${unit}`)
    }
  }
})

test('steps of different sizes follow each other on one instance', () => {
  const engine = started()
  const first = refusal(engine, 'req_1', '')
  refusal(engine, 'req_2', 'x'.repeat(2_000_000))
  assert.equal(refusal(engine, 'req_1', ''), first)
})
