// A whole session of each agent: directly, through the gateway, and with a model of another provider.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../sdk/gateway.mjs'
import { agents } from './agents.mjs'
import { alone, names } from './alone.mjs'
import { Agent } from './run.mjs'
import { difference, normalized } from './same.mjs'
import { script, session } from './session.mjs'

const gateway = await startGateway()

/** Runs the session, and returns what the person saw, what reached the provider, and the files. */
async function run(agent, calls) {
  agent.reset()
  const turns = session(agent.row, agent.setup.work, calls)
  await gateway.script(script(turns))
  const said = []
  for (const turn of turns) {
    const got = await agent.turn(turn.prompt, turn)
    const { text, usage, error, code } = got
    if (error !== undefined || code !== 0)
      assert.fail(`${turn.prompt} ended with ${code}: ${error ?? got.stderr.slice(-2000)}`)
    said.push({ text, usage })
  }
  const seen = await gateway.seen()
  return { said, seen, files: agent.files(), bodies: seen.map(({ body }) => normalized(body)) }
}

/** The session's outcome that a person asked for. */
function assertDone({ said, files }) {
  assert.equal(Buffer.from(files['notes.txt'], 'base64').toString(), 'one\nthree\n')
  assert.ok('seen' in files && 'count.txt' in files)
  const texts = said.map(({ text }) => text)
  assert.match(texts[0], /The notes are written\.$/)
  assert.match(texts[1], /The notes are edited\.$/)
  assert.match(texts[2], /^Considered\. .*Consideration 1999\.$/)
  assert.match(texts[3], /A red dot\./) // OpenCode then compacts, and continues by itself
  assert.match(texts.at(-1), /All is done\.$/)
}

for (const name of names) {
  const { models } = agents[name]
  test(`${name}, own model: bodies, usage and files are the same as directly`, async (t) => {
    if (!alone) t.diagnostic('no network of its own: other hosts are refused by the proxy variables')
    const agent = new Agent(name, { base: gateway.upstream, key: 'direct', model: models.own })
    t.after(() => agent.remove())
    const direct = await run(agent)
    assertDone(direct)
    const project = await gateway.project()
    agent.setup.base = gateway.url
    agent.setup.key = await gateway.key(project)
    const through = await gateway.whileTimePasses(() => run(agent))
    assertDone(through)
    assert.deepEqual(through.files, direct.files)
    assert.deepEqual(through.said, direct.said)
    assert.equal(difference(direct.bodies, through.bodies), undefined)
  })

  test(`${name}, a model of another provider: the session reaches its end`, async (t) => {
    const key = await gateway.key(await gateway.project())
    const agent = new Agent(name, { base: gateway.url, key, model: models.other })
    t.after(() => agent.remove())
    const through = await gateway.whileTimePasses(() => run(agent, agent.row.callsOfOther))
    assertDone(through)
  })
}
