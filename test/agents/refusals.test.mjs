// What an agent does if the gateway refuses a request: how often it tries, and how long the person waits for the
// reason. docs/agents/ has the results in a table.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../sdk/gateway.mjs'
import { agents } from './agents.mjs'
import { long, names } from './alone.mjs'
import { startRecorder } from './recorder.mjs'
import { Agent } from './run.mjs'
import { script, session } from './session.mjs'

/**
 * Limits for a refusal that is final: the number of tries, and the milliseconds until the agent stops and reports the
 * refusal. The time allows for a slow machine. The table in docs/agents/ has the usual time.
 */
const MOST_TRIES = 2
const MOST_MS = 20_000

// The same limits for agents that ignore x-should-retry. Each of these responses has that header.
//
//   - Codex retries every status but 400, 429 and 500: `map_api_error` in codex-rs/codex-api/src/api_bridge.rs and
//     `is_retryable` in codex-rs/protocol/src/error.rs of openai/codex, 2026-11.
//   - Claude Code takes a 422 to mean that the gateway does not know its beta features, and tries again without them
//     within a second.
//   - OpenCode retries every 429, as the AI SDK's `isRetryable` says: the session's retries in sst/opencode,
//     2026-11. It shows the message in the meantime.
const ignored = {
  codex: { 401: { tries: 6 }, 403: { tries: 6 }, 422: { tries: 6 }, revocation: { tries: 6 } },
  claude: { 422: { tries: 6 } },
  opencode: { '429 daily': { tries: 8, ms: 110_000 } },
}

const plan = {
  perSecond: 0,
  perDay: 0,
  developmentPerSecond: 0,
  developmentPerDay: 0,
  concurrent: 100,
  budget: '1000',
  governor: true,
}
const gateway = await startGateway((catalog) => {
  catalog.plans.push({ ...plan, name: 'one-per-second', perSecond: 1 }, { ...plan, name: 'one-per-day', perDay: 1 })
  catalog.routing.coolAfter = 1000 // failures in one agent's turn must not cause refusals in the next agent's
})
const recorder = await startRecorder(gateway.url)

// Each case has the setup and the text that the person sees.
const cases = [
  { name: '401', final: /Invalid or inactive API key/i, key: () => 'sk_unknown' },
  { name: '402', final: /budget/i, key: keyOf({ budget: 0 }) },
  { name: '403', final: /permission/i, key: keyOf({}, { models: ['only'] }) },
  { name: '422', final: /personal\.email|policy|blocked/i, key: governedKey },
  { name: '429 daily', final: /quota exceeded|usage limit/i, key: keyOf({ plan: 'one-per-day' }) },
  { name: '429 short', key: keyOf({ plan: 'one-per-second' }) },
  { name: '503', key: keyOf({}), provider: { kind: 'status', status: 503, times: 4 } },
  { name: '529', key: keyOf({}), provider: { kind: 'status', status: 529, times: 4 } },
  { name: 'stream cut', or: /ended early/, key: keyOf({}), provider: { kind: 'cut' } }, // Pi ends with the error
  { name: 'revocation', final: /Invalid or inactive API key/i, key: keyOf({}), revoked: true },
]

function keyOf(project, fields) {
  return async () => {
    const made = await gateway.project(project)
    const key = await gateway.createKey(made, fields)
    return { value: key.value, revoke: () => gateway.deactivate(made, key) }
  }
}

async function governedKey() {
  const project = await gateway.project()
  await gateway.govern(project, { enabled: true, rules: { 'personal.email': { input: 'block' } } })
  return gateway.key(project)
}

/** Runs a turn of the session for a case. Returns the turn's result and the agent's requests. */
async function refused(agent, { key, provider, revoked }) {
  const made = await key()
  agent.setup.key = made.value ?? made
  agent.reset()
  const turns = session(agent.row, agent.setup.work)
  await gateway.script(script(turns, agent.row))
  if (provider) await gateway.next(provider)
  if (revoked) {
    const first = await agent.turn(turns[0].prompt)
    assert.match(first.text ?? '', /The notes are written\./)
    await made.revoke()
  }
  recorder.requests.length = 0
  const turn = turns[revoked ? 1 : 0]
  const result = await agent.turn(provider || revoked ? turn.prompt : `${turn.prompt} Ask jane.doe@corp.example.`)
  return { result, requests: recorder.requests.filter(({ path }) => !path.includes('count_tokens')) }
}

/** The outcome of a case, for the table. */
function outcome({ result, requests }) {
  const failed = requests.filter(({ status }) => status >= 400)
  const seconds = failed.length > 0 ? ((result.readAt - failed[0].refusedAt) / 1000).toFixed(1) : '-'
  const said = result.error ?? result.text ?? result.stderr
  return {
    failed,
    seconds,
    text: said.trim().slice(0, 500),
    line: `${failed.map(({ status }) => status).join(' ')} of ${requests.length}, ${seconds} s`,
  }
}

for (const name of names) {
  for (const one of cases) {
    if (!long && one.name !== '429 daily') continue
    test(`${name}, ${one.name}`, async (t) => {
      const agent = new Agent(name, { base: recorder.url, key: '', model: agents[name].models.own })
      t.after(() => agent.remove())
      const got = await gateway.whileTimePasses(() => refused(agent, one))
      const { failed, text, line } = outcome(got)
      t.diagnostic(`${name} | ${one.name} | ${line} | ${text}`)
      if (one.final === undefined) {
        assert.match(text, one.or && name === 'pi' ? one.or : /The notes are written\./, line)
        return
      }
      assert.match(text, one.final, line)
      const { tries = MOST_TRIES, ms = MOST_MS } = ignored[name]?.[one.name] ?? {}
      assert.ok(failed.length >= 1 && failed.length <= tries, `${failed.length} tries, want at most ${tries}`)
      assert.ok(got.result.readAt - failed[0].refusedAt < ms, line)
    })
  }
}
