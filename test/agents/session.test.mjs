// A complete session of each agent: directly, through the gateway, and with another provider's model.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../sdk/gateway.mjs'
import { assertCounted, modelOf } from './account.mjs'
import { agents } from './agents.mjs'
import { alone, names } from './alone.mjs'
import { startRecorder } from './recorder.mjs'
import { Agent, PNG } from './run.mjs'
import { allowed, difference, normalized, passed } from './same.mjs'
import { SUMMARY, script, session } from './session.mjs'

const gateway = await startGateway()
const recorder = await startRecorder(gateway.url)

/** Runs the session. Returns the output that the person saw, the requests that reached the provider, and the files. */
async function run(agent, calls) {
  agent.reset()
  const turns = session(agent.row, agent.setup.work, calls)
  await gateway.script(script(turns, agent.row))
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

const base64 = (text) => Buffer.from(text).toString('base64')
const FILES = {
  'count.txt': base64('2 notes.txt\n'),
  'dot.png': PNG,
  'notes.txt': base64('one\nthree\n'),
  seen: '',
}

/** Checks the session's outcome for the person, and the requests that the provider should have received. */
function assertDone({ said, seen, files }, { asksForSummary }) {
  assert.deepEqual(files, FILES)
  const texts = said.map(({ text }) => text)
  assert.match(texts[0], /The notes are written\.$/)
  assert.match(texts[1], /The notes are edited\.$/)
  assert.match(texts[2], /^Considered\. .*Consideration 1999\.$/)
  assert.match(texts[3], /A red dot\./) // OpenCode then compacts and continues on its own
  assert.match(texts.at(-1), /All is done\.$/)
  const bodies = seen.map(({ body }) => body)
  assert.ok(
    bodies.some((body) => body.includes(PNG)),
    'the provider got the image',
  )
  if (asksForSummary) assert.ok(bodies.at(-1).includes(SUMMARY), 'the last request has the summary of the compaction')
}

/** Runs the session through the gateway, and checks its outcome and its cost. */
async function runThrough(agent, calls) {
  const project = await gateway.project()
  const key = await gateway.key(project)
  Object.assign(agent.setup, { base: gateway.url, key })
  return gateway.whileTimePasses(async () => {
    const through = await run(agent, calls)
    assertDone(through, agent.row)
    await assertCounted(gateway, project, key, through.seen)
    return through
  })
}

/** Asserts that the provider received exactly those of the agent's headers that the catalog allows. */
function assertHeaders(direct, through) {
  for (const [i, one] of through.entries()) {
    assert.deepEqual(passed(one), allowed(passed(direct[i]), modelOf(one)))
    assert.notDeepEqual(one.header['User-Agent'], direct[i].header['User-Agent'])
  }
}

for (const name of names) {
  const { models } = agents[name]
  test(`${name}, own model: bodies, usage and files are the same as directly`, async (t) => {
    if (!alone) t.diagnostic('no network of its own: other hosts are refused by the proxy variables')
    const agent = new Agent(name, { base: gateway.upstream, key: 'direct', model: models.own })
    t.after(() => agent.remove())
    const direct = await run(agent)
    assertDone(direct, agent.row)
    const through = await runThrough(agent)
    assert.deepEqual(through.said, direct.said)
    assert.equal(difference(direct.bodies, through.bodies), undefined)
    assertHeaders(direct.seen, through.seen)
  })

  test(`${name}, a model of another provider: the session reaches its end`, async (t) => {
    const agent = new Agent(name, { base: gateway.url, key: '', model: models.other })
    t.after(() => agent.remove())
    const { seen } = await runThrough(agent, agent.row.callsOfOther)
    for (const one of seen) {
      const { 'anthropic-version': _, ...rest } = passed(one) // the gateway sets this header itself
      assert.deepEqual(rest, {}, 'a header of the agent reached another provider')
    }
  })
}

// If Codex is set up with openai_base_url, it first asks for a WebSocket. With a provider of its own, it does not.
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
