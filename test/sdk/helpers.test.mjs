// Helpers that the SDKs build on top of the API: tool loops, parallel tool calls, schemas in streams, model lists.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import { HumanMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { embedMany, generateObject, stepCountIs, streamObject, streamText, ToolLoopAgent, tool } from 'ai'
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { picture, startGateway, weatherSchema } from './gateway.mjs'

globalThis.AI_SDK_LOG_WARNINGS = false
const gateway = await startGateway()
const project = await gateway.project()
const live = await gateway.key(project)
const mock = await gateway.key(project, { environment: 'development' })
const baseURL = `${gateway.url}/v1`
const City = z.object({ city: z.string() })
const Trip = z.object({
  name: z.string(),
  days: z.number(),
  kind: z.enum(['sea', 'city']),
  stops: z.array(City),
  note: z.string().nullable(),
})
const say = (content) => [{ role: 'user', content }]
const functionTool = (name) => ({ type: 'function', function: { name, parameters: weatherSchema } })
const clients = (apiKey) => ({
  openai: new OpenAI({ baseURL, apiKey, maxRetries: 0 }),
  anthropic: new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 }),
  aiOpenAI: createOpenAI({ baseURL, apiKey }),
  aiAnthropic: createAnthropic({ baseURL, apiKey }),
  langchain: (model, options) =>
    new ChatOpenAI({ model, apiKey, configuration: { baseURL }, maxRetries: 0, ...options }),
})

// The upstream format is chat completions for "only", messages for "poet", and responses for "sage".
for (const model of ['only', 'poet', 'sage']) {
  const { openai, anthropic, aiOpenAI, aiAnthropic, langchain } = clients(live)
  const it = (what, run) => test(`${model}: ${what}`, run)
  const max_tokens = 500

  it('parallel tool calls: openai', async () => {
    const tools = [functionTool('weather'), functionTool('time')]
    const prompt = say('parallel, please')
    const { message } = (await openai.chat.completions.create({ model, messages: prompt, tools })).choices[0]
    const streamed = await openai.chat.completions.stream({ model, messages: prompt, tools }).finalMessage()
    for (const { tool_calls } of [message, streamed]) {
      assert.deepEqual(
        tool_calls.map(({ function: f }) => f.name),
        ['weather', 'time'],
      )
      assert.equal(new Set(tool_calls.map(({ id }) => id)).size, 2)
      for (const { function: f } of tool_calls) assert.equal(typeof JSON.parse(f.arguments).city, 'string')
      const results = tool_calls.map(({ id }, i) => ({ role: 'tool', tool_call_id: id, content: `result ${i}` }))
      const messages = [...prompt, { role: 'assistant', content: null, tool_calls }, ...results]
      const final = await openai.chat.completions.create({ model, messages, tools })
      assert.equal(final.choices[0].message.content, 'The tool said: result 0; result 1')
    }
  })

  it('parallel tool calls: openai responses', async () => {
    const tools = ['weather', 'time'].map((name) => ({
      type: 'function',
      name,
      parameters: weatherSchema,
      strict: true,
    }))
    const prompt = say('parallel, please')
    const complete = await openai.responses.create({ model, input: prompt, tools })
    const streamed = await openai.responses.stream({ model, input: prompt, tools }).finalResponse()
    for (const { output } of [complete, streamed]) {
      const calls = output.filter(({ type }) => type === 'function_call')
      assert.deepEqual(
        calls.map(({ name }) => name),
        ['weather', 'time'],
      )
      for (const call of calls) assert.equal(typeof JSON.parse(call.arguments).city, 'string')
      const results = calls.map(({ call_id }, i) => ({ type: 'function_call_output', call_id, output: `result ${i}` }))
      const final = await openai.responses.create({ model, input: [...prompt, ...output, ...results], tools })
      assert.equal(final.output_text, 'The tool said: result 0; result 1')
    }
  })

  it('parallel tool calls: anthropic', async () => {
    const tools = ['weather', 'time'].map((name) => ({ name, input_schema: weatherSchema }))
    const request = { model, max_tokens, tools }
    const prompt = say('parallel, please')
    const complete = await anthropic.messages.create({ ...request, messages: prompt })
    const streamed = await anthropic.messages.stream({ ...request, messages: prompt }).finalMessage()
    for (const { content, stop_reason } of [complete, streamed]) {
      const calls = content.filter(({ type }) => type === 'tool_use')
      assert.equal(stop_reason, 'tool_use')
      assert.deepEqual(
        calls.map(({ name }) => name),
        ['weather', 'time'],
      )
      for (const { input } of calls) assert.equal(typeof input.city, 'string')
      const results = calls.map(({ id }, i) => ({ type: 'tool_result', tool_use_id: id, content: `result ${i}` }))
      const messages = [...prompt, { role: 'assistant', content }, { role: 'user', content: results }]
      const final = await anthropic.messages.create({ ...request, messages })
      assert.equal(final.content[0].text, 'The tool said: result 0; result 1')
    }
  })

  for (const [api, provider] of [
    ['responses', aiOpenAI(model)],
    ['chat', aiOpenAI.chat(model)],
    ['messages', aiAnthropic(model)],
  ]) {
    it(`parallel tool calls and an agent: ai by ${api}`, async () => {
      const seen = []
      const named = (name) =>
        tool({ inputSchema: City, execute: ({ city }) => seen.push([name, city]) && `${name} of a city` })
      const tools = { weather: named('weather'), time: named('time') }
      const prompt = `parallel, please, ${api}`
      const result = streamText({ model: provider, prompt, tools, stopWhen: stepCountIs(3), maxRetries: 0 })
      assert.equal(await result.text, 'The tool said: weather of a city; time of a city')
      const agent = new ToolLoopAgent({ model: provider, tools, maxRetries: 0 })
      assert.equal((await agent.generate({ prompt })).text, 'The tool said: weather of a city; time of a city')
      assert.deepEqual(
        seen.map(([name]) => name),
        ['weather', 'time', 'weather', 'time'],
      )
      assert.ok(seen.every(([, city]) => typeof city === 'string'))
    })

    it(`reasoning: ai by ${api}`, async () => {
      const result = streamText({ model: provider, prompt: `think, ${api}`, maxRetries: 0 })
      assert.match(await result.text, /^Hello from upstream$/)
      const { outputTokens } = await result.usage
      assert.ok(outputTokens > 0)
      // Chat completions have no field for reasoning, and OpenAI's Responses API returns only a summary.
      if (api === 'messages') assert.match(await result.reasoningText, /The user wants me to think/)
    })
  }

  it('parallel tool calls: langchain', async () => {
    const tools = ['weather', 'time'].map((name) =>
      langchainTool(({ city }) => `${name} in ${city.length >= 0}`, { name, schema: City }),
    )
    for (const useResponsesApi of [false, true]) {
      const chat = langchain(model, { useResponsesApi }).bindTools(tools)
      const messages = [new HumanMessage('parallel, please')]
      let first
      for await (const chunk of await chat.stream(messages)) first = first === undefined ? chunk : first.concat(chunk)
      assert.deepEqual(
        first.tool_calls.map(({ name }) => name),
        ['weather', 'time'],
      )
      const results = await Promise.all(first.tool_calls.map((call, i) => tools[i].invoke(call)))
      const final = await chat.invoke([...messages, first, ...results])
      assert.equal(final.text, 'The tool said: weather in true; time in true')
      assert.ok(final.usage_metadata.output_tokens > 0)
    }
  })
}

for (const [mode, key] of [
  ['provider', live],
  ['mock', mock],
]) {
  const { openai, anthropic, aiOpenAI, aiAnthropic, langchain } = clients(key)
  for (const model of ['only', 'poet', 'sage']) {
    const it = (what, run) => test(`${mode}, ${model}: ${what}`, run)
    const max_tokens = 500

    it("openai's runTools", async () => {
      const run = ({ city }) => `21 degrees in ${city}`
      const tools = [zodFunction({ name: 'weather', parameters: City, function: run })]
      for (const stream of [false, true]) {
        const runner = openai.chat.completions.runTools({ model, messages: say('Paris?'), tools, stream })
        assert.match(await runner.finalContent(), /21 degrees in/)
      }
    })

    // By default, toolRunner asks the server to store the conversation ("thread"), and continues without storage if
    // the server refuses.
    it("anthropic's toolRunner", async () => {
      const run = ({ city }) => `21 degrees in ${city}`
      const tools = [betaZodTool({ name: 'weather', description: 'The weather', inputSchema: City, run })]
      const request = { model, max_tokens, messages: say('Paris?'), tools }
      for (const settings of [{ thread: false }, { thread: false, stream: true }, {}, { stream: true }]) {
        const runner = anthropic.beta.messages.toolRunner({ ...request, ...settings })
        const message = await runner.runUntilDone()
        assert.match(message.content.map(({ text }) => text ?? '').join(''), /21 degrees in/, JSON.stringify(settings))
      }
    })

    it("openai's schemas, streamed", async () => {
      const completion = openai.chat.completions.stream({
        model,
        messages: say('A trip'),
        response_format: zodResponseFormat(Trip, 'trip'),
      })
      const { message } = (await completion.finalChatCompletion()).choices[0]
      assert.ok(Trip.safeParse(message.parsed).success, message.content)
      const text = { format: zodTextFormat(Trip, 'trip') }
      const response = await openai.responses.stream({ model, input: 'A trip', text }).finalResponse()
      assert.ok(Trip.safeParse(response.output_parsed).success, response.output_text)
    })

    it("anthropic's schemas", async () => {
      const request = { model, max_tokens, messages: say('A trip'), output_config: { format: zodOutputFormat(Trip) } }
      const parsed = await anthropic.messages.parse(request)
      assert.ok(Trip.safeParse(parsed.parsed_output).success, JSON.stringify(parsed.content))
      const streamed = await anthropic.messages.stream(request).finalMessage()
      assert.ok(Trip.safeParse(JSON.parse(streamed.content[0].text)).success)
    })

    it('anthropic: forced tool choice', async () => {
      const message = await anthropic.messages.create({
        model,
        max_tokens,
        messages: say('A city'),
        tools: ['other', 'weather'].map((name) => ({ name, input_schema: weatherSchema })),
        tool_choice: { type: 'tool', name: 'weather' },
      })
      assert.deepEqual(
        message.content.filter(({ type }) => type === 'tool_use').map(({ name }) => name),
        ['weather'],
      )
    })

    it('openai: JSON mode', async () => {
      const request = { model, messages: say('Some JSON'), response_format: { type: 'json_object' } }
      const { data, response } = await openai.chat.completions.create(request).withResponse()
      if (mode === 'provider' && model === 'poet') {
        // Anthropic has no JSON mode, so the gateway drops the parameter and says so in a header.
        assert.match(response.headers.get('x-postern-dropped-params'), /response_format/)
      } else {
        assert.equal(typeof JSON.parse(data.choices[0].message.content), 'object')
      }
    })

    it('openai responses: image input and instructions', async () => {
      const content = [
        { type: 'input_text', text: 'What is it?' },
        { type: 'input_image', image_url: `data:image/png;base64,${picture}`, detail: 'auto' },
      ]
      const { output_text } = await openai.responses.create({ model, instructions: 'Be brief.', input: say(content) })
      assert.match(output_text, mode === 'provider' ? /image\/png, 8 bytes/ : /\[image\]/)
    })

    it('langchain: image input', async () => {
      const url = `data:image/png;base64,${picture}`
      const content = [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url } },
      ]
      const { text } = await langchain(model).invoke([new HumanMessage({ content })])
      assert.match(text, mode === 'provider' ? /image\/png, 8 bytes/ : /\[image\]/)
    })

    for (const [api, provider] of [
      ['responses', aiOpenAI(model)],
      ['chat', aiOpenAI.chat(model)],
      ['messages', aiAnthropic(model)],
    ]) {
      it(`objects, complete and streamed: ai by ${api}`, async () => {
        const request = { model: provider, schema: Trip, prompt: 'A trip', maxRetries: 0 }
        const { object } = await generateObject(request)
        assert.ok(Trip.safeParse(object).success)
        const streamed = streamObject(request)
        let parts = 0
        for await (const _ of streamed.partialObjectStream) parts++
        assert.ok(parts > 0)
        assert.ok(Trip.safeParse(await streamed.object).success)
      })
    }
  }

  test(`${mode}: many embeddings`, async () => {
    const values = ['one', 'two', 'three']
    const { embeddings, usage } = await embedMany({ model: aiOpenAI.embedding('vectors'), values, maxRetries: 0 })
    assert.equal(embeddings.length, 3)
    assert.ok(usage.tokens > 0)
    const floats = await openai.embeddings.create({ model: 'vectors', input: values, encoding_format: 'float' })
    const packed = await openai.embeddings.create({ model: 'vectors', input: values })
    for (const [i, { embedding }] of packed.data.entries()) {
      assert.equal(embedding.length, floats.data[i].embedding.length)
      for (const [k, x] of embedding.entries()) assert.ok(Math.abs(x - floats.data[i].embedding[k]) < 1e-6)
    }
  })

  test(`${mode}: the model lists of the SDKs`, async () => {
    const [ofOpenAI, ofAnthropic] = [[], []]
    for await (const { id } of openai.models.list()) ofOpenAI.push(id)
    for await (const { id, type } of anthropic.models.list()) {
      ofAnthropic.push(id)
      assert.equal(type, 'model')
    }
    for (const id of ['only', 'poet', 'balanced']) assert.ok(ofOpenAI.includes(id) && ofAnthropic.includes(id), id)
    assert.equal((await anthropic.models.retrieve('poet')).id, 'poet')
    await assert.rejects(anthropic.models.retrieve('nope'), Anthropic.NotFoundError)
    await assert.rejects(openai.models.retrieve('nope'), OpenAI.NotFoundError)
  })
}

test('several choices, complete and streamed', async () => {
  const { openai } = clients(live)
  const request = { model: 'only', messages: say('Hello, twice'), n: 2 }
  assert.equal((await openai.chat.completions.create(request)).choices.length, 2)
  const texts = ['', '']
  for await (const { choices } of await openai.chat.completions.create({ ...request, stream: true })) {
    for (const { index, delta } of choices) texts[index] += delta.content ?? ''
  }
  assert.deepEqual(texts, ['Hello from upstream', 'Hello from upstream'])
})

test('stateful parameters of the Responses API are rejected by name', async () => {
  const { openai } = clients(live)
  const request = { model: 'only', input: 'x', previous_response_id: 'resp_1' }
  await assert.rejects(openai.responses.create(request), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError)
    assert.equal(error.param, 'previous_response_id')
    return true
  })
})

test('a stored conversation is rejected with the error that the SDK expects', async () => {
  const { anthropic } = clients(live)
  for (const model of ['poet', 'only', 'sage']) {
    const thread = anthropic.beta.messages.thread({ model, max_tokens: 100 })
    await assert.rejects(
      thread.send({ role: 'user', content: 'Hello' }),
      Anthropic.ThreadUnsupportedRequestError,
      model,
    )
  }
})

test('the request ID reaches the SDKs', async () => {
  const { openai, anthropic } = clients(live)
  const completion = await openai.chat.completions.create({ model: 'only', messages: say('Who?') })
  assert.ok(completion._request_id)
  const message = await anthropic.messages.create({ model: 'poet', max_tokens: 9, messages: say('Who?') })
  assert.ok(message._request_id)
  await assert.rejects(openai.chat.completions.create({ model: 'nope', messages: say('x') }), (error) => {
    assert.ok(error.requestID)
    return true
  })
  await assert.rejects(anthropic.messages.create({ model: 'nope', max_tokens: 9, messages: say('x') }), (error) => {
    assert.equal(error.type, 'not_found_error')
    assert.ok(error.requestID)
    return true
  })
})
