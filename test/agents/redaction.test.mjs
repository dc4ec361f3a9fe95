// Reversible redaction. The provider sees only placeholders. The person and the files have the real values. A value
// has the same placeholder in every turn, so the provider's prompt cache still matches.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { startGateway } from '../sdk/gateway.mjs'
import { agents } from './agents.mjs'
import { names } from './alone.mjs'
import { Agent } from './run.mjs'

const gateway = await startGateway()
const CARD = '4111 1111 1111 1111'

for (const name of names) {
  test(`${name}: redacted values come back, with a stable prefix`, async (t) => {
    const project = await gateway.project()
    await gateway.govern(project, {
      enabled: true,
      reversible: true,
      rules: { 'personal.payment-card': { input: 'redact' } },
    })
    const agent = new Agent(name, {
      base: gateway.url,
      key: await gateway.key(project),
      model: agents[name].models.own,
    })
    t.after(() => agent.remove())
    const first = `Please pay with ${CARD}.`
    await gateway.script([
      { user: 'Please pay with', steps: [{ text: 'I shall pay.' }] },
      { user: 'Continue', steps: [{ text: 'Paid.' }] },
    ])
    await gateway.whileTimePasses(async () => {
      for (const prompt of [first, 'Continue.', 'Continue again.']) {
        const { text, error, stderr } = await agent.turn(prompt)
        assert.match(text ?? error ?? stderr, /I shall pay\.|Paid\./)
      }
    })
    const seen = (await gateway.seen()).filter(({ body }) => body.includes('Please pay with'))
    assert.ok(seen.length >= 3)
    const placeholders = new Set()
    for (const { body } of seen) {
      assert.ok(!body.includes(CARD), 'the provider saw the card')
      for (const [, placeholder] of body.matchAll(/Please pay with ([^".\\]+)/g)) placeholders.add(placeholder)
    }
    assert.equal(placeholders.size, 1, [...placeholders].join(' | '))
    const [placeholder] = placeholders
    await writesTheValue(agent, placeholder)
  })
}

/** Checks that a tool call with the placeholder writes the value. */
async function writesTheValue(agent, placeholder) {
  const path = join(agent.setup.work, 'card.txt')
  const steps = [{ calls: [agent.row.calls.write(path, `${placeholder}\n`)] }, { text: `Written: ${placeholder}.` }]
  await gateway.script([{ user: 'Write it down', steps }])
  const { text, error, stderr } = await gateway.whileTimePasses(() => agent.turn('Write it down.'))
  assert.match(text ?? error ?? stderr, new RegExp(`Written: ${CARD}\\.`))
  assert.equal(Buffer.from(agent.files()['card.txt'], 'base64').toString(), `${CARD}\n`)
}
