// Codex with the setting openai_base_url, in place of a provider of its own: it asks for a WebSocket first.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../sdk/gateway.mjs'
import { agents } from './agents.mjs'
import { names } from './alone.mjs'
import { startRecorder } from './recorder.mjs'
import { Agent } from './run.mjs'
import { script, session } from './session.mjs'

const gateway = await startGateway()
const recorder = await startRecorder(gateway.url)

test('codex with openai_base_url: one WebSocket is refused, and HTTP follows', {
  skip: !names.includes('codex'),
}, async (t) => {
  const key = await gateway.key(await gateway.project())
  const { own } = agents.codex.models
  const agent = new Agent('codex', { base: recorder.url, key, model: own, ownProvider: false })
  t.after(() => agent.remove())
  const turns = session(agent.row, agent.setup.work)
  await gateway.script(script(turns, agent.row))
  const { text, error, stderr } = await gateway.whileTimePasses(() => agent.turn(turns[0].prompt))
  assert.match(text ?? error ?? stderr, /The notes are written\.$/)
  const tries = recorder.requests.map(({ path, status }) => `${status} ${path}`)
  assert.deepEqual(
    tries.filter((one) => one.endsWith('/responses')),
    ['426 /v1/responses', '200 /v1/responses', '200 /v1/responses'],
    tries.join(),
  )
})
