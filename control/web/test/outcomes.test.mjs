// Compares the dashboard's words for outcomes with the API's lists, docs/openapi.yaml and testdata/faults.json.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  CAUSES,
  causesOf,
  causeWords,
  followedBy,
  OUTCOMES,
  outcomeWords,
  resultWords,
  STATUSES,
} from '../src/outcomes.js'
import REMEDIES from '../src/remedies.json' with { type: 'json' }
import { curlAgain } from '../src/snippets.js'

const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const faults = JSON.parse(read('testdata/faults.json')).filter(({ place }) => place !== 'admin')

test('every cause of the API has words, and its outcome', () => {
  const [, names] = /^ {4}Cause:$.*?enum: \[(.*?)\]/ms.exec(read('docs/openapi.yaml'))
  assert.deepEqual(
    CAUSES.map(([name]) => name),
    names.split(', '),
  )
  assert.equal(new Set(CAUSES.map(([, words]) => words)).size, CAUSES.length)
  for (const [, , outcome] of CAUSES) assert.ok(OUTCOMES.some(([name]) => name === outcome))
  assert.equal(causeWords('budget'), 'Over the budget')
  assert.equal(causeWords('unheard_of'), 'unheard_of')
  assert.equal(causeWords(null), '')
  assert.equal(outcomeWords(null), 'Not settled')
})

test('every status of the gateway can be selected, and every code has a remedy', () => {
  const statuses = [...new Set(faults.map(({ status }) => String(status)))].sort()
  assert.deepEqual(
    STATUSES.filter((status) => /^[45]\d\d$/.test(status)),
    statuses,
  )
  assert.deepEqual(Object.keys(REMEDIES).sort(), [...new Set(faults.map(({ code }) => code))].sort())
})

test('causes are listed by their number', () => {
  assert.deepEqual(causesOf({ causes: { budget: 2, rate_limit: 9, gateway: 1 } }), [
    ['rate_limit', 9],
    ['budget', 2],
    ['gateway', 1],
  ])
})

test('an attempt says what happened and what followed', () => {
  const at = (provider, model) => ({ provider, model })
  const attempts = [at('openai', 'groat'), at('openai', 'groat'), at('anthropic', 'farthing')]
  assert.deepEqual(
    attempts.map((_, i) => followedBy(attempts, i)),
    ['tried again', 'fell back to farthing', 'no further target'],
  )
  assert.equal(resultWords('429'), '429, over its rate limit')
  assert.equal(resultWords('503'), '503, an error of the provider')
  assert.equal(resultWords('timeout'), 'no answer in time')
  assert.equal(resultWords('provider_invalid_response'), 'provider_invalid_response')
})

test('a request is sent again without its key and its body', () => {
  assert.equal(
    curlAgain('https://ai.example', { method: 'POST', endpoint: '/v1/chat/completions' }),
    `curl -X POST https://ai.example/v1/chat/completions \\
  -H "X-API-Key: $POSTERN_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '<the body, which is not stored>'`,
  )
  assert.equal(
    curlAgain('https://ai.example', { method: 'GET', endpoint: '/v1/models' }),
    'curl -X GET https://ai.example/v1/models \\\n  -H "X-API-Key: $POSTERN_API_KEY"',
  )
})
