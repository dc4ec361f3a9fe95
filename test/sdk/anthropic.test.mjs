// The unmodified official @anthropic-ai/sdk package.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { counted, picture, startGateway, weatherSchema } from './gateway.mjs'

const gateway = await startGateway()
const project = await gateway.project()
const live = await gateway.key(project)
const mock = await gateway.key(project, { environment: 'development' })

function client(apiKey, options = {}) {
  return new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0, ...options })
}

const say = (content) => [{ role: 'user', content }]
const max_tokens = 500
const tools = [{ name: 'weather', input_schema: weatherSchema }]
const textOf = ({ content }) => content.map(({ text }) => text ?? '').join('')

for (const [mode, key] of [
  ['provider', live],
  ['mock', mock],
]) {
  for (const model of ['poet', 'only']) {
    const anthropic = client(key)
    const real = mode === 'provider'
    const it = (name, run) => test(`${mode}, ${model}: ${name}`, run)

    it('message', async () => {
      const message = await anthropic.messages.create({
        model,
        max_tokens,
        messages: say('Hello'),
        system: 'Be brief.',
      })
      assert.match(textOf(message), real ? /^Hello from upstream$/ : /Hello$/)
      assert.equal(message.stop_reason, 'end_turn')
      assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 0)
    })

    it('stream', async () => {
      const stream = anthropic.messages.stream({ model, max_tokens, messages: say('count to 30') })
      let text = ''
      stream.on('text', (piece) => {
        text += piece
      })
      const message = await stream.finalMessage()
      assert.equal(text, textOf(message))
      assert.equal(text, real ? counted(30) : "This is Postern's test mode. You said: count to 30")
      assert.equal(message.stop_reason, 'end_turn')
      assert.ok(message.usage.output_tokens > 0)
    })

    it('tool round trip', async () => {
      const first = await anthropic.messages.create({ model, max_tokens, tools, messages: say('Paris?') })
      const use = first.content.find(({ type }) => type === 'tool_use')
      assert.equal(first.stop_reason, 'tool_use')
      assert.equal(typeof use.input.city, 'string')
      const result = [{ type: 'tool_result', tool_use_id: use.id, content: '21 degrees' }]
      const messages = [
        ...say('Paris?'),
        { role: 'assistant', content: first.content },
        { role: 'user', content: result },
      ]
      assert.match(textOf(await anthropic.messages.create({ model, max_tokens, tools, messages })), /21 degrees/)
    })

    it('tools, streamed', async () => {
      const stream = anthropic.messages.stream({ model, max_tokens, tools, messages: say('Paris, streamed') })
      const { content } = await stream.finalMessage()
      assert.equal(typeof content.find(({ type }) => type === 'tool_use').input.city, 'string')
    })

    it('image input', async () => {
      const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } }
      const messages = say([image, { type: 'text', text: 'What is it?' }])
      const message = await anthropic.messages.create({ model, max_tokens, messages })
      assert.match(textOf(message), real ? /image\/png, 8 bytes/ : /\[image\]/)
    })

    it('token count', async () => {
      const { input_tokens } = await anthropic.messages.countTokens({ model, messages: say('How many are these?') })
      assert.ok(input_tokens > 0)
    })
  }
}

test('thinking blocks keep their signature in both directions', async () => {
  const anthropic = client(live)
  const thinking = { type: 'enabled', budget_tokens: 1024 }
  const request = { model: 'poet', max_tokens: 4000, thinking }
  const first = await anthropic.messages.stream({ ...request, messages: say('think') }).finalMessage()
  const [thought] = first.content
  assert.equal(thought.type, 'thinking')
  assert.ok(thought.signature.length > 0)
  const again = 'and once more'
  await anthropic.messages.create({
    ...request,
    messages: [...say('think'), { role: 'assistant', content: first.content }, ...say(again)],
  })
  const sent = (await gateway.seen()).map(({ body }) => body).find((body) => body.includes(again))
  assert.deepEqual(JSON.parse(sent).messages[1].content[0], thought)
})

test('cache markers and unknown members reach the provider', async () => {
  const system = [{ type: 'text', text: 'A long prompt.', cache_control: { type: 'ephemeral' } }]
  const text = 'with a marker'
  const content = [{ type: 'text', text, cache_control: { type: 'ephemeral', ttl: '1h' } }]
  await client(live).messages.create({
    model: 'poet',
    max_tokens,
    system,
    messages: say(content),
    service_tier: 'auto',
  })
  const sent = JSON.parse((await gateway.seen()).map(({ body }) => body).find((body) => body.includes(text)))
  assert.deepEqual(sent.system, system)
  assert.deepEqual(sent.messages[0].content, content)
  assert.equal(sent.service_tier, 'auto')
  assert.equal(sent.model, 'up-poet')
})

test('errors have the right classes', async () => {
  const create = (apiKey, body) =>
    client(apiKey).messages.create({ model: 'poet', max_tokens, messages: say('x'), ...body })
  await assert.rejects(create('sk_live_nonsense'), Anthropic.AuthenticationError)
  await assert.rejects(create(live, { model: 'nope' }), Anthropic.NotFoundError)
  await assert.rejects(create(live, { max_tokens: 0 }), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError)
    assert.equal(error.error.error.type, 'invalid_request_error')
    return true
  })
  await gateway.next({ kind: 'status', status: 529, times: 2 })
  await assert.rejects(create(live, { messages: say('overloaded') }), Anthropic.InternalServerError)
})

for (const kind of ['broken', 'cut', 'error-event', 'malformed']) {
  test(`a stream that the provider breaks off (${kind}) throws`, async () => {
    await gateway.next({ kind })
    const stream = client(live).messages.stream({ model: 'poet', max_tokens, messages: say(`count to 40 ${kind}`) })
    await assert.rejects(stream.finalMessage(), Anthropic.APIError)
  })
}

test('a client disconnect aborts the upstream request within a second', async () => {
  const prompt = 'count to 5000, if there is time'
  await gateway.next({ kind: 'answer', delayMs: 4 }) // the provider needs twenty seconds, so it is not done when the client disconnects
  const stream = client(live).messages.stream({ model: 'poet', max_tokens, messages: say(prompt) })
  let pieces = 0
  for await (const event of stream) if (event.type === 'content_block_delta' && ++pieces === 30) break
  const leftAt = Date.now()
  const request = await gateway.ended(prompt)
  assert.equal(request.left, true)
  assert.ok(Date.parse(request.leftAt) - leftAt < 1500, `left at ${leftAt}, aborted at ${request.leftAt}`)
})
