// Checks the cost of a session: the gateway's records and usage, compared to the provider's reports at the catalog's
// prices.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../sdk/gateway.mjs'

export const catalog = JSON.parse(readFileSync(join(ROOT, 'core/catalog/catalog.json'), 'utf8'))

/** Asserts that the gateway counted each chat request that reached the provider, and nothing else. */
export async function assertCounted(gateway, project, key, seen) {
  const chats = seen.filter(({ op }) => op === 'chat')
  const want = chats.map(reported)
  const got = (await gateway.requests(project, seen.length)).map(recorded)
  // Claude Code also sends requests that count tokens, which cost nothing.
  const priced = got.filter(({ input }) => input > 0)
  assert.deepEqual(sorted(priced), sorted(want))
  assert.equal(got.length, seen.length)
  const { budget, promptCache, models: used } = await gateway.usage(project, key)
  const rows = Object.values(used)
  const cost = sum(want, 'cost')
  assert.deepEqual(
    {
      used: budget.used,
      byModel: dollars(sum(rows, 'cost')),
      tokens: sum(rows, 'tokens'),
      promptCache,
    },
    {
      used: dollars(cost),
      byModel: dollars(cost),
      tokens: sum(want, 'input') + sum(want, 'output'),
      promptCache: {
        readTokens: sum(want, 'cached'),
        writeTokens: sum(want, 'written'),
        saved: dollars(sum(want, 'saved')),
      },
    },
  )
}

/** The catalog's entry for the model that a request asks for. */
export function modelOf({ path, body }) {
  const model = JSON.parse(body).model ?? path.match(/models\/([^:]+)/)[1]
  return catalog.models.find(({ name }) => name === model)
}

/** A request according to the provider's report. Input includes cached and written tokens. */
function reported({ path, body, usage }) {
  const price = modelOf({ path, body })
  const { input, output, cached = 0, written = 0 } = usage
  const plain = input * price.input
  const paid = (input - cached - written) * price.input + cached * price.cached + written * (price.write ?? 0)
  return {
    ...{ model: price.name, input, output, cached, written },
    cost: dollars((paid + output * price.output) / 1e6),
    saved: dollars((plain - paid) / 1e6),
  }
}

/** A request according to the gateway's record. */
function recorded({ model, promptTokens, completionTokens, cost, promptCache, estimated }) {
  assert.equal(estimated, false)
  const { readTokens, writeTokens, saved } = promptCache
  return { model, input: promptTokens, output: completionTokens, cached: readTokens, written: writeTokens, cost, saved }
}

/** An amount without the rounding error of floating-point sums. */
function dollars(amount) {
  return Number(amount.toFixed(9))
}

function sum(rows, member) {
  return rows.reduce((total, row) => total + row[member], 0)
}

function sorted(rows) {
  return rows.map((row) => JSON.stringify(row)).sort()
}
