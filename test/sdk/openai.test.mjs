// The unmodified official openai package: chat completions, responses, embeddings, moderations, legacy completions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { counted, eventually, picture, startGateway, weatherSchema } from './gateway.mjs'

const gateway = await startGateway()
const project = await gateway.project()
const live = await gateway.key(project)
const mock = await gateway.key(project, { environment: 'development' })

function client(apiKey, options = {}) {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, ...options })
}

const say = (content) => [{ role: 'user', content }]
const weather = { type: 'function', function: { name: 'weather', parameters: weatherSchema, strict: true } }
const City = z.object({ city: z.string() })

// "only" is an OpenAI model. "poet" is an Anthropic model, whose requests are translated.
for (const [mode, key] of [
  ['provider', live],
  ['mock', mock],
]) {
  for (const model of ['only', 'poet']) {
    const openai = client(key)
    const real = mode === 'provider'
    const it = (name, run) => test(`${mode}, ${model}: ${name}`, run)

    it('chat', async () => {
      const { choices, usage } = await openai.chat.completions.create({ model, messages: say('Hello') })
      assert.match(choices[0].message.content, real ? /^Hello from upstream$/ : /Hello$/)
      assert.equal(choices[0].finish_reason, 'stop')
      assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
      assert.ok(usage.prompt_tokens > 0)
    })

    it('stream with usage', async () => {
      const stream = await openai.chat.completions.create({
        model,
        messages: say('count to 30'),
        stream: true,
        stream_options: { include_usage: true },
      })
      let [text, finish, usage, chunks] = ['', undefined, undefined, 0]
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        finish ??= chunk.choices[0]?.finish_reason ?? undefined
        usage = chunk.usage ?? usage
        chunks++
      }
      assert.equal(text, real ? counted(30) : "This is Postern's test mode. You said: count to 30")
      assert.equal(finish, 'stop')
      assert.ok(usage.completion_tokens > 0)
      assert.ok(chunks > (real ? 20 : 2))
    })

    it('tool round trip', async () => {
      const first = await openai.chat.completions.create({ model, messages: say('Paris?'), tools: [weather] })
      const { message, finish_reason } = first.choices[0]
      assert.equal(finish_reason, 'tool_calls')
      const [call] = message.tool_calls
      assert.equal(call.function.name, 'weather')
      assert.equal(typeof JSON.parse(call.function.arguments).city, 'string')
      const second = await openai.chat.completions.create({
        model,
        tools: [weather],
        messages: [...say('Paris?'), message, { role: 'tool', tool_call_id: call.id, content: '21 degrees' }],
      })
      assert.match(second.choices[0].message.content, /21 degrees/)
    })

    it('tools, streamed', async () => {
      const stream = openai.chat.completions.stream({ model, messages: say('Paris, streamed'), tools: [weather] })
      const message = await stream.finalMessage()
      assert.equal(message.tool_calls[0].function.name, 'weather')
      assert.equal(typeof JSON.parse(message.tool_calls[0].function.arguments).city, 'string')
    })

    it('structured output', async () => {
      const format = zodResponseFormat(City, 'city')
      const parsed = await openai.chat.completions.parse({ model, messages: say('A city'), response_format: format })
      assert.equal(typeof parsed.choices[0].message.parsed.city, 'string')
    })

    it('image input', async () => {
      const content = [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
      ]
      const { choices } = await openai.chat.completions.create({ model, messages: say(content) })
      assert.match(choices[0].message.content, real ? /image\/png, 8 bytes/ : /\[image\]/)
    })

    it('responses', async () => {
      const response = await openai.responses.create({ model, input: 'Hello, response' })
      assert.match(response.output_text, real ? /^Hello from upstream$/ : /Hello, response$/)
      assert.equal(response.status, 'completed')
      assert.ok(response.usage.input_tokens > 0)
    })

    it('responses, streamed', async () => {
      const stream = openai.responses.stream({ model, input: 'count to 30' })
      let text = ''
      stream.on('response.output_text.delta', ({ delta }) => {
        text += delta
      })
      const final = await stream.finalResponse()
      assert.equal(text, final.output_text)
      assert.equal(text, real ? counted(30) : "This is Postern's test mode. You said: count to 30")
      assert.ok(final.usage.output_tokens > 0)
    })

    it('responses: tool round trip', async () => {
      const tools = [{ type: 'function', name: 'weather', parameters: weatherSchema, strict: true }]
      const input = [{ role: 'user', content: 'Paris?' }]
      const first = await openai.responses.create({ model, input, tools })
      const call = first.output.find(({ type }) => type === 'function_call')
      assert.equal(call.name, 'weather')
      const result = { type: 'function_call_output', call_id: call.call_id, output: '21 degrees' }
      const second = await openai.responses.create({ model, tools, input: [...input, ...first.output, result] })
      assert.match(second.output_text, /21 degrees/)
    })

    it('responses: structured output', async () => {
      const text = { format: zodTextFormat(City, 'city') }
      const parsed = await openai.responses.parse({ model, input: 'A city', text })
      assert.equal(typeof parsed.output_parsed.city, 'string')
    })
  }

  test(`${mode}: embeddings, which the SDK requests in base64`, async () => {
    const { data, usage } = await client(key).embeddings.create({ model: 'vectors', input: ['one', 'two'] })
    assert.equal(data.length, 2)
    assert.ok(data.every(({ embedding }) => embedding.length >= 8 && embedding.every(Number.isFinite)))
    assert.ok(data[0].embedding.some((x) => x !== 0))
    assert.ok(usage.prompt_tokens > 0)
  })

  test(`${mode}: moderations`, async () => {
    const input = ['Hello', 'a violent, postern-flagged text']
    const { model, results } = await client(key).moderations.create({ input })
    assert.equal(model, 'omni-moderation-latest')
    assert.deepEqual(
      results.map(({ flagged, categories }) => [flagged, categories.violence]),
      [
        [false, false],
        [true, true],
      ],
    )
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }
    const parts = await client(key).moderations.create({ model, input: [{ type: 'text', text: 'Hello' }, image] })
    assert.equal(parts.results.length, 1)
  })

  test(`${mode}: legacy completions`, async () => {
    const request = { model: 'gpt-3.5-turbo-instruct', prompt: ['One', 'Hello'], max_tokens: 40 }
    const said = mode === 'provider' ? /^Hello from upstream$/ : /Hello$/
    const { object, choices, usage } = await client(key).completions.create(request)
    assert.equal(object, 'text_completion')
    assert.equal(choices.length, 2)
    assert.match(choices[1].text, said)
    assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
    const options = { stream: true, stream_options: { include_usage: true } }
    let [text, finish, tokens] = ['', undefined, 0]
    for await (const chunk of await client(key).completions.create({ ...request, prompt: 'Hello', ...options })) {
      text += chunk.choices[0]?.text ?? ''
      finish ??= chunk.choices[0]?.finish_reason ?? undefined
      tokens = chunk.usage?.total_tokens ?? tokens
    }
    assert.match(text, said)
    assert.equal(finish, 'stop')
    assert.ok(tokens > 0)
  })
}

test('parallel tool calls', async () => {
  const other = { ...weather, function: { ...weather.function, name: 'time' } }
  const { choices } = await client(live).chat.completions.create({
    model: 'poet',
    messages: say('parallel, please'),
    tools: [weather, other],
  })
  assert.deepEqual(choices[0].message.tool_calls.map(({ function: f }) => f.name).sort(), ['time', 'weather'])
})

test('models', async () => {
  const ids = (await client(live).models.list()).data.map(({ id }) => id)
  for (const id of ['only', 'poet', 'balanced', 'gpt-4o', 'claude-sonnet-4-5']) assert.ok(ids.includes(id), id)
  assert.equal((await client(live).models.retrieve('only')).owned_by, 'openai')
})

test('errors have the right classes', async () => {
  const create = (apiKey, body) =>
    client(apiKey).chat.completions.create({ model: 'only', messages: say('x'), ...body })
  await assert.rejects(create('sk_live_nonsense'), OpenAI.AuthenticationError)
  await assert.rejects(create(live, { model: 'nope' }), OpenAI.NotFoundError)
  await assert.rejects(create(live, { temperature: 9 }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError)
    assert.equal(error.param, 'temperature')
    return true
  })
  await gateway.next({ kind: 'status', status: 400 })
  await assert.rejects(create(live, { messages: say('refused') }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError)
    assert.ok(!/Provider error/.test(error.message), error.message)
    return true
  })
  await gateway.next({ kind: 'status', status: 500, times: 2 })
  await assert.rejects(create(live, { messages: say('broken') }), OpenAI.InternalServerError)
})

test('a used-up budget: the SDK sends one request, because of x-should-retry', async () => {
  const poor = await gateway.project({ budget: 0 })
  let requests = 0
  const counting = (url, init) => {
    requests++
    return fetch(url, init)
  }
  const openai = client(await gateway.key(poor), { maxRetries: 3, fetch: counting })
  await assert.rejects(openai.chat.completions.create({ model: 'only', messages: say('x') }), (error) => {
    assert.equal(error.status, 402)
    assert.equal(error.code, 'budget_exceeded')
    return true
  })
  assert.equal(requests, 1)
})

for (const kind of ['broken', 'cut', 'error-event', 'malformed']) {
  test(`a stream that the provider breaks off (${kind}) throws and never completes`, async () => {
    const openai = client(live)
    await gateway.next({ kind })
    const stream = await openai.chat.completions.create({
      model: 'only',
      messages: say(`count to 40 ${kind}`),
      stream: true,
    })
    let text = ''
    await assert.rejects(async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    }, OpenAI.APIError)
    assert.ok(text.length > 0 && text.length < counted(40).length, text)
    await gateway.next({ kind })
    const responses = openai.responses.stream({ model: 'only', input: `count to 41 ${kind}` })
    await assert.rejects(async () => {
      const final = await responses.finalResponse()
      assert.equal(final.status, 'failed')
      throw new Error('the response has failed')
    })
  })
}

test('a client disconnect aborts the upstream request within a second, and the received tokens are billed', async () => {
  const alone = await gateway.project()
  const key = await gateway.key(alone)
  const prompt = 'count to 5000 and mind the gap'
  await gateway.next({ kind: 'answer', delayMs: 4 }) // the provider needs twenty seconds, so it is not done when the client disconnects
  const stream = await client(key).chat.completions.create({ model: 'spare', messages: say(prompt), stream: true })
  let chunks = 0
  for await (const _ of stream) if (++chunks === 50) break
  const leftAt = Date.now()
  const request = await gateway.ended(prompt)
  assert.equal(request.left, true)
  assert.ok(Date.parse(request.leftAt) - leftAt < 1500, `left at ${leftAt}, aborted at ${request.leftAt}`)
  const usage = await eventually(async () => {
    const report = await gateway.usage(alone, key)
    return report.models.spare && report
  })
  const { requests, tokens, cost } = usage.models.spare
  assert.equal(requests, 1)
  assert.ok(tokens > 50 && tokens < 10_000, `${tokens} tokens`)
  assert.ok(cost > 0)
})
