import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  actionOf,
  draftOf,
  fieldsOf,
  linesOf,
  newExemption,
  newList,
  piecesOf,
  riskSum,
  withAction,
} from '../src/governor.js'

const DEFAULTS = {
  enabled: false,
  strictMode: false,
  autoApproveThreshold: 30,
  reversible: false,
  unchecked: 'allow',
  rules: {},
  keywords: [],
  patterns: [],
  exemptions: [],
  exemptAgentAddresses: true,
  answerSchema: null,
  maxInputCharacters: null,
  maxOutputCharacters: null,
  classifier: null,
}
const FULL = {
  ...DEFAULTS,
  rules: { secret: { input: 'block', output: 'flag' } },
  keywords: [{ name: 'codes', severity: 'high', input: 'flag', output: 'block', matchCase: true, words: ['a b', 'c'] }],
  patterns: [{ name: 'ids', pattern: 'EMP-[0-9]{6}', severity: 'low', input: 'flag', output: 'flag', system: 'block' }],
  exemptions: [
    { rule: 'personal.email', value: 'support@example.com' },
    { rule: null, pattern: 'EMP-0+' },
  ],
  exemptAgentAddresses: false,
  answerSchema: { schema: { type: 'object' }, action: 'block', severity: 'low' },
  maxInputCharacters: 5000,
  classifier: {
    kind: 'chat',
    model: 'm',
    mode: 'strict',
    timeoutMs: 1000,
    onFailure: 'block',
    threshold: 60,
  },
}

test('settings survive the form', () => {
  for (const settings of [DEFAULTS, FULL]) assert.deepEqual(fieldsOf(draftOf(settings)), settings)
})

test('two drafts of the same settings are equal', () => {
  assert.equal(JSON.stringify(draftOf(FULL)), JSON.stringify(draftOf(structuredClone(FULL))))
})

test('typed numbers and lists become values, and mistakes are sent as typed', () => {
  const draft = {
    ...draftOf(DEFAULTS),
    autoApproveThreshold: '4o',
    maxInputCharacters: '1,000',
    keywords: [{ ...newList(), name: 'x', system: '', words: ' one \n\ntwo' }],
    exemptions: [{ ...newExemption(), text: ' a b ', rule: ' secret ' }],
    answerSchema: { schema: '{"type":', action: 'flag', severity: 'low' },
  }
  const fields = fieldsOf(draft)
  assert.equal(fields.autoApproveThreshold, '4o')
  assert.equal(fields.maxInputCharacters, 1000)
  assert.deepEqual(fields.keywords[0].words, ['one', 'two'])
  assert.ok(!('id' in fields.keywords[0] || 'system' in fields.keywords[0]))
  assert.deepEqual(fields.exemptions, [{ rule: 'secret', value: 'a b' }])
  assert.equal(fields.answerSchema.schema, '{"type":')
})

test('linesOf drops blank lines', () => {
  assert.deepEqual(linesOf(''), [])
  assert.deepEqual(linesOf('\n a\r\n\nb c \n'), ['a', 'b c'])
})

test('withAction changes one direction and removes empty entries', () => {
  const rules = withAction({}, 'secret', 'input', 'block')
  assert.deepEqual(rules, { secret: { input: 'block' } })
  assert.deepEqual(withAction(rules, 'secret', 'output', 'flag'), { secret: { input: 'block', output: 'flag' } })
  assert.deepEqual(withAction(rules, 'secret', 'input', ''), {})
  assert.deepEqual(withAction(rules, 'other', 'input', ''), rules)
})

test('a rule’s own action comes before its category’s, which comes before the default', () => {
  const rule = { name: 'personal.email', category: 'personal', input: 'flag', output: 'flag' }
  assert.equal(actionOf({}, rule, 'input'), 'flag')
  assert.equal(actionOf({ personal: { input: 'redact' } }, rule, 'input'), 'redact')
  assert.equal(
    actionOf({ personal: { input: 'redact' }, 'personal.email': { output: 'allow' } }, rule, 'input'),
    'redact',
  )
  assert.equal(
    actionOf({ personal: { input: 'redact' }, 'personal.email': { input: 'allow' } }, rule, 'input'),
    'allow',
  )
})

test('the risk is shown as a sum', () => {
  const sum = (points, riskScore, autoApproveThreshold = 30) =>
    riskSum({ findings: points.map((p) => ({ points: p })), riskScore, autoApproveThreshold })
  assert.equal(sum([], 0), '0 ≤ 30')
  assert.equal(sum([5], 5), '5 ≤ 30')
  assert.equal(sum([20, 5, 5], 30), '20 + 5 + 5 = 30 ≤ 30')
  assert.equal(sum([20, 0, 20], 40), '20 + 20 = 40 > 30')
  assert.equal(sum([100, 40], 100, 100), '100 + 40 = 140, at most 100 ≤ 100')
})

test('piecesOf cuts at UTF-8 offsets and loses nothing', () => {
  const text = 'Grüße 😀 an a@b.de, <b>'
  const bytes = Buffer.from(text)
  const at = bytes.indexOf('a@b.de')
  const emoji = bytes.indexOf('😀')
  const findings = [
    { rule: 'mail', start: at, end: at + 6 },
    { rule: 'face', start: emoji, end: emoji + 4 },
    { rule: 'length.input', start: 0, end: 0 },
    { rule: 'overlap', start: at + 2, end: at + 8 },
  ]
  const pieces = piecesOf(text, findings)
  assert.deepEqual(
    pieces.map(({ text: piece, finding }) => [piece, finding?.rule]),
    [
      ['Grüße ', undefined],
      ['😀', 'face'],
      [' an ', undefined],
      ['a@b.de', 'mail'],
      [', <b>', undefined],
    ],
  )
  assert.deepEqual(piecesOf('', []), [])
})

test('system texts have the action of input until they have their own', () => {
  const rule = { name: 'personal.email', category: 'personal', input: 'flag', output: 'flag' }
  assert.equal(actionOf({}, rule, 'system'), 'flag')
  assert.equal(actionOf({ personal: { input: 'block' } }, rule, 'system'), 'block')
  assert.equal(actionOf({ personal: { input: 'block', system: 'allow' } }, rule, 'system'), 'allow')
  assert.equal(
    actionOf({ 'personal.email': { system: 'redact' }, personal: { system: 'allow' } }, rule, 'system'),
    'redact',
  )
})
