// Two agents that share a key with a limit of one request per second. Both reach the end of the session.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../sdk/gateway.mjs'
import { agents } from './agents.mjs'
import { long, names } from './alone.mjs'
import { startRecorder } from './recorder.mjs'
import { Agent } from './run.mjs'
import { script, session } from './session.mjs'

const gateway = await startGateway((catalog) => {
  catalog.plans.push({ ...catalog.plans[0], name: 'one-per-second', perSecond: 1, perDay: 0, budget: '1000' })
})
const recorder = await startRecorder(gateway.url)

/** Pairs each agent with the next one, and the last with the first. */
const pairs = long ? names.map((name, i) => [name, names[(i + 1) % names.length]]) : [['claude', 'claude']]

for (const pair of pairs) {
  test(`${pair.join(' and ')} at once: one request per second`, async (t) => {
    const key = await gateway.key(await gateway.project({ plan: 'one-per-second' }))
    const running = pair.map((name) => new Agent(name, { base: recorder.url, key, model: agents[name].models.own }))
    t.after(() => running.forEach((agent) => void agent.remove()))
    recorder.requests.length = 0
    // The prompts of the two agents differ, so each agent has its own rules in the script.
    const turns = running
      .map((agent) => session(agent.row, agent.setup.work)[0])
      .map((turn, i) => ({ ...turn, prompt: `${turn.prompt} I am ${i}.` }))
    await gateway.script(running.flatMap(({ row }, i) => script([turns[i]], row)))
    const results = await gateway.whileTimePasses(() =>
      Promise.all(running.map((agent, i) => agent.turn(turns[i].prompt))),
    )
    for (const [i, result] of results.entries()) {
      assert.match(result.text ?? result.error ?? result.stderr, /The notes are written\./, pair[i])
      assert.ok('notes.txt' in running[i].files())
    }
    const limited = recorder.requests.filter(({ status }) => status === 429)
    assert.ok(limited.length > 0, 'the limit was reached')
    for (const { headers } of limited) assert.ok(Number(headers['retry-after']) <= 1, headers['retry-after'])
    t.diagnostic(`${limited.length} of ${recorder.requests.length} requests had to wait`)
  })
}
