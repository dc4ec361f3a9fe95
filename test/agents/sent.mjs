// Compares the agents' headers, fields, kinds of tools and kinds of items with sent.json. Prints the new items and
// the items that the agents no longer send. Then it updates sent.json. renew.mjs runs this program after it has
// changed the pins.
//
//	AGENTS=codex,claude node test/agents/sent.mjs
import './alone.mjs'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runGateway } from '../sdk/gateway.mjs'
import { agents } from './agents.mjs'
import { names } from './alone.mjs'
import { Agent } from './run.mjs'
import { script, session } from './session.mjs'

const FILE = join(import.meta.dirname, 'sent.json')

/** Runs the session directly, and returns the names of everything that the agent sent. */
async function sent(name, gateway) {
  const agent = new Agent(name, { base: gateway.upstream, key: 'direct', model: agents[name].models.own })
  const turns = session(agent.row, agent.setup.work)
  await gateway.script(script(turns, agent.row))
  for (const turn of turns) await agent.turn(turn.prompt, turn)
  agent.remove()
  return [...new Set((await gateway.seen()).flatMap(namesIn))].sort()
}

function namesIn({ method, path, query, header, body }) {
  const root = JSON.parse(body || '{}')
  return [
    `${method} ${path}${query && `?${query}`}`,
    ...Object.keys(header).map((name) => `header ${name}`),
    ...(header['Anthropic-Beta']?.[0].split(',') ?? []).map((name) => `beta ${name}`),
    ...Object.entries(root).flatMap(([name, value]) => [`member ${name}`, ...inside(name, value)]),
    ...(root.tools ?? []).map(({ type, name }) => `tool ${type ?? 'custom'} ${name ?? ''}`.trimEnd()),
  ]
}

/** The fields of an object, or the kinds of a list's items. */
function inside(name, value) {
  if (Array.isArray(value))
    return value.flatMap((item) => (item?.type ? [`${name} item ${item.type}`] : contents(name, item)))
  return value !== null && typeof value === 'object'
    ? Object.keys(value).map((member) => `member ${name}.${member}`)
    : []
}

function contents(name, item) {
  return Array.isArray(item?.content) ? item.content.map(({ type }) => `${name} content ${type}`) : []
}

const before = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {}
const { gateway, stop } = await runGateway()
try {
  for (const name of names) {
    const known = before[name] ?? []
    before[name] = await sent(name, gateway)
    for (const one of before[name]) if (!known.includes(one)) console.log(`${name} + ${one}`)
    for (const one of known) if (!before[name].includes(one)) console.log(`${name} - ${one}`)
  }
} finally {
  await stop()
}
writeFileSync(FILE, `${JSON.stringify(before, null, 2)}\n`)
