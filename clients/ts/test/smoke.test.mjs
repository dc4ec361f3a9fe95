// The client against the real gateway: in workerd, or `postern serve` with TEST_TARGET=serve.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { startGateway } from '../../../test/sdk/gateway.mjs'
import {
  BlockedByPolicyError,
  BudgetExceededError,
  NotFoundError,
  PermissionDeniedError,
  Postern,
  StreamError,
} from '../dist/index.js'

const gateway = await startGateway()
const project = await gateway.project({ plan: 'unlimited', cache: 'off' })
const poor = await gateway.project({ name: 'Empty', budget: 0 })
const permissions = ['models', 'usage', 'violations', 'triage', 'registry', 'registry.edit', 'compliance']
const keys = {
  development: await gateway.key(project, { environment: 'development' }),
  production: await gateway.key(project),
  poor: await gateway.key(poor),
  project: await gateway.key(project, { kind: 'project', permissions }),
}
const logging = { level: 'off' }
const client = (key, options = {}) => new Postern({ apiKey: keys[key], baseURL: gateway.url, logging, ...options })
const ask = (content) => ({ messages: [{ role: 'user', content }] })

test('health and usage', async () => {
  const postern = client('development')
  assert.equal((await postern.health.get()).projectId, project.id)
  const report = await postern.usage.get({ period: 'day' })
  assert.equal(typeof report.budget.remaining, 'number')
  assert.ok(Date.parse(report.period.end) > Date.parse(report.period.start))
})

test('a completion with its cost and metadata', async () => {
  const params = { ...ask('Hello'), quality: 'cheap' }
  const { text, usage, meta, provider, attempts } = await client('production').ai.complete(params)
  assert.equal(attempts, 1)
  assert.equal(text, 'Hello from upstream')
  assert.ok(usage.costCents > 0)
  assert.deepEqual([meta.costCents, meta.provider, meta.cache], [usage.costCents, provider, 'bypass'])
  assert.match(meta.requestId, /^req_[0-9a-f]{32}$/)
  assert.deepEqual(meta.attempts, { count: 1, targets: [{ target: `${provider}/${meta.model}`, result: '200' }] })
})

test('a stream', async () => {
  const stream = await client('production').ai.chat(ask('count to 3'))
  let text = ''
  for await (const event of stream) if (event.type === 'delta') text += event.text
  assert.equal(text, '1 2 3')
  assert.ok((await stream.usage()).costCents > 0)
  assert.equal((await stream.final()).meta.requestId, stream.meta.requestId)
})

const weather = {
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

test('a tool call, whole and streamed, and its result', async () => {
  const postern = client('development')
  const params = { ...ask('Weather?'), tools: [weather] }
  const { toolCalls, finishReason, latencyMs } = await postern.ai.complete(params)
  assert.deepEqual([toolCalls.length, toolCalls[0].name, finishReason], [1, 'weather', 'tool_calls'])
  assert.equal(typeof toolCalls[0].arguments.city, 'string')
  assert.ok(Number.isInteger(latencyMs))
  const stream = await postern.ai.chat(params)
  const types = new Set()
  for await (const { type } of stream) types.add(type)
  assert.deepEqual([...types], ['toolCall', 'toolCallDelta', 'done'])
  assert.deepEqual(
    (await stream.toolCalls()).map((call) => call.arguments),
    toolCalls.map((call) => call.arguments),
  )
  assert.equal((await stream.final()).finishReason, 'tool_calls')
  const turn = [
    { role: 'assistant', toolCalls },
    { role: 'tool', toolCallId: toolCalls[0].id, content: 'rain' },
  ]
  const answer = await postern.ai.complete({ ...params, messages: [...params.messages, ...turn], toolChoice: 'none' })
  assert.deepEqual([answer.toolCalls, answer.finishReason], [[], 'stop'])
  const alone = postern.ai.complete({ ...ask('Weather?'), toolChoice: 'auto' })
  await assert.rejects(alone, (error) => error.status === 400 && error.details[0].field === 'toolChoice')
})

test('a model by its name, with content parts', async () => {
  const postern = client('development')
  const { model } = await postern.ai.complete(ask('Hello'))
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image', imageUrl: 'data:image/png;base64,iVBORw0KGgo=' },
  ]
  const messages = [{ role: 'user', content }]
  assert.equal((await postern.ai.complete({ messages, model })).model, model)
  await assert.rejects(postern.ai.complete({ ...ask('Hello'), model: 'no-such-model' }), NotFoundError)
  content[1].imageUrl = 'http://example.com/a.png'
  await assert.rejects(postern.ai.complete({ messages }), /messages\[0\]\.content\[1\]\.imageUrl: must be/)
})

test('a Zod schema is sent, and its output validated', async () => {
  const schema = z.object({ n: z.number(), city: z.string().min(2) })
  const { data } = await client('development').ai.complete({ ...ask('A city'), schema })
  assert.deepEqual(Object.keys(data).sort(), ['city', 'n'])
})

test('a stream with a Zod schema', async () => {
  const schema = z.object({ n: z.number(), city: z.string().min(2) })
  const stream = await client('development').ai.chat({ ...ask('A city'), schema })
  let text = ''
  for await (const event of stream) if (event.type === 'delta') text += event.text
  assert.deepEqual(JSON.parse(text), await stream.data())
  const { data, usage } = await stream.final()
  assert.deepEqual([Object.keys(data).sort(), usage.costCents], [['city', 'n'], 0])
})

test('the models of a key, and any other endpoint', async () => {
  const models = await client('production').models.available()
  assert.ok(models.some(({ id, ownedBy }) => id === 'cheap' && ownedBy === 'postern'))
  assert.deepEqual(await client('project').models.available(), models)
  const { data, response } = await client('production').get('/v1/models').withResponse()
  assert.deepEqual([data.data.map(({ id }) => id), JSON.parse(response.body)], [models.map(({ id }) => id), data])
  const body = { model: models.find(({ ownedBy }) => ownedBy === 'openai').id, messages: ask('Hello').messages }
  const postern = client('production', { retries: 0 })
  const send = () =>
    postern.post('/v1/chat/completions', body, { idempotency: `order-post-${project.id}` }).withResponse()
  const [first, second] = [await send(), await send()]
  assert.equal(first.data.choices[0].message.content, 'Hello from upstream')
  assert.deepEqual([first.meta.replayed, second.meta.replayed, second.data], [false, true, first.data])
  await assert.rejects(postern.get('/api/no-such-endpoint'), NotFoundError)
})

test('a count of tokens', async () => {
  const { promptTokens, estimated, provider, model, meta } = await client('development').ai.countTokens(ask('Hello'))
  assert.ok(promptTokens > 0)
  assert.deepEqual([typeof estimated, typeof provider, typeof model], ['boolean', 'string', 'string'])
  assert.match(meta.requestId, /^req_/)
})

test('headers and queries of a client, a key from a function, and hooks', async () => {
  const seen = []
  const postern = client('development', {
    apiKey: async () => keys.development,
    query: { tenant: 'a' },
    headers: { 'x-team': 'core' },
    onRequest: ({ headers }) => seen.push(headers.get('x-team')),
    onResponse: ({ status, requestId }) => seen.push(status, requestId),
  })
  const { meta } = await postern.health.get().withResponse()
  assert.deepEqual(seen, ['core', 200, meta.requestId])
})

test('embeddings', async () => {
  const postern = client('development')
  const { embeddings, usage, provider } = await postern.ai.embed({
    model: 'text-embedding-3-small',
    input: ['one', 'two'],
    dimensions: 4,
  })
  assert.deepEqual([embeddings.map(({ length }) => length), provider, usage.costCents], [[4, 4], 'mock', 0])
  await assert.rejects(postern.ai.embed({ model: 'no-such-model', input: 'one' }), NotFoundError)
})

test('a provider that fails during a stream', async () => {
  await gateway.next({ kind: 'error-event' })
  const error = await client('production')
    .ai.chat(ask('count to 40'))
    .then((stream) => stream.text())
    .catch((error) => error)
  assert.ok(error instanceof StreamError)
  assert.match(error.code, /^provider_/)
  assert.match(error.requestId, /^req_/)
})

test('an idempotency key: the second request is a replay', async () => {
  const postern = client('production', { retries: 0 })
  const idempotency = `order-${project.id}`
  const first = await postern.ai.complete(ask('Hello again'), { idempotency })
  const second = await postern.ai.complete(ask('Hello again'), { idempotency })
  assert.deepEqual([first.meta.replayed, second.meta.replayed], [false, true])
  assert.equal(second.text, first.text)
})

test('a retry after a provider outage', async () => {
  await gateway.next({ kind: 'status', status: 500, times: 2 }) // the gateway's first attempt and its retry
  assert.equal((await client('production').ai.complete(ask('down'))).text, 'Hello from upstream')
})

test('errors have their classes', async () => {
  await assert.rejects(client('poor').ai.complete(ask('Hello')), (error) => {
    assert.ok(error instanceof BudgetExceededError)
    assert.equal(error.code, 'budget_exceeded')
    const { level, id, name, unit, period, resetsAt } = error.budget
    assert.deepEqual([level, name, unit, period, resetsAt], ['project', null, 'dollars', 'month', error.resetsAt])
    assert.match(id, /^proj_/)
    return true
  })
  await assert.rejects(client('development').violations.list(), (error) => {
    assert.ok(error instanceof PermissionDeniedError)
    assert.match(error.message, /; this call needs a project key \(pk_…\) \(403, insufficient_permissions, req_/)
    return true
  })
  await assert.rejects(client('project').ai.complete(ask('Hello')), /; this call needs a gateway key \(sk_…\) \(403, /)
  const hot = client('development').ai.complete({ ...ask('Hello'), temperature: 3 })
  await assert.rejects(hot, /^BadRequestError: [^:]+: temperature: must be .+ \(400, invalid_request, req_/)
  await assert.rejects(client('project').models.get('mod_none'), NotFoundError)
})

test("the Governor's settings tighten a request", async () => {
  const governed = await gateway.project({ plan: 'developer' })
  const policy = { enabled: true, rules: { 'personal.email': { input: 'flag' } } }
  await gateway.govern(governed, policy)
  const apiKey = await gateway.key(governed, { environment: 'development' })
  const text = 'Mail me at jane.doe@example.com'
  const loose = new Postern({ apiKey, baseURL: gateway.url, logging })
  assert.equal((await loose.governor.validate({ text })).approved, true)
  const { governor } = (await loose.ai.complete(ask(text))).meta
  assert.deepEqual([governor.decision, governor.riskScore], ['approve', 5])
  const strict = { governor: { strictMode: true, autoApproveThreshold: 0 } }
  await assert.rejects(loose.ai.complete(ask(text), strict), (error) => {
    assert.ok(error instanceof BlockedByPolicyError)
    assert.equal(error.findings[0].rule, 'personal.email')
    return true
  })
})

test('the registry, violations and compliance data', async () => {
  const postern = client('project')
  const { id, version, state } = await postern.models.create({ model: 'gpt-4.1', owner: 'Search team' })
  assert.equal(state, 'pending')
  const changed = await postern.models.update(id, { purpose: 'Answers', version })
  const approved = await postern.models.transition(id, { to: 'approved', reason: 'Reviewed', version: changed.version })
  assert.equal(approved.state, 'approved')
  const models = []
  for await (const model of postern.models.list({ limit: 1 })) models.push(model.model)
  assert.ok(models.includes('gpt-4.1'))
  assert.equal((await postern.models.list()).enforcement, 'off')
  assert.deepEqual((await postern.violations.list()).items, [])
  const summary = await postern.compliance.summary()
  assert.equal(summary.project.id, project.id)
  assert.deepEqual(summary.governor.system, summary.governor.input)
  assert.deepEqual([summary.governor.exemptions, summary.governor.exemptAgentAddresses], [0, true])
  assert.equal((await postern.compliance.bom()).bomFormat, 'CycloneDX')
  const lines = []
  for await (const line of postern.compliance.export({ type: 'audit', limit: 1 })) lines.push(line)
  assert.ok(lines.filter(({ format }) => format === 'postern-export').length > 1, 'one page only')
  assert.ok(
    lines.some(({ kind }) => kind === 'registry.transition'),
    JSON.stringify(lines.map(({ kind }) => kind)),
  )
})
