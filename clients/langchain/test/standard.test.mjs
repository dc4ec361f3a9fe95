// LangChain's standard tests for chat models and embeddings. They are rewritten for the real gateway, because their
// package is not published. Each test keeps its original name. The originals are in libs/langchain-standard-tests of
// langchain-ai/langchainjs (chat models) and in libs/standard-tests of langchain-ai/langchain (embeddings, which the
// JavaScript package does not have).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InMemoryCache } from '@langchain/core/caches'
import { AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages'
import { ChatPromptTemplate } from '@langchain/core/prompts'
import { RunnableLambda } from '@langchain/core/runnables'
import { StructuredTool, tool } from '@langchain/core/tools'
import { ChatPostern, PosternEmbeddings } from '@postern-ai/langchain'
import { z } from 'zod'
import { counted, picture, startGateway } from '../../../test/sdk/gateway.mjs'

const gateway = await startGateway()
const project = await gateway.project({ cache: 'off' })
const apiKey = await gateway.key(project)
const connection = { apiKey, baseURL: gateway.url, maxRetries: 0 }

const adder = z.object({ a: z.number().int(), b: z.number().int() }).describe('Add two integers')
class Adder extends StructuredTool {
  name = 'adder'
  description = 'Adds two integers'
  schema = adder
  _call({ a, b }) {
    return JSON.stringify({ sum: a + b })
  }
}
const place = z.object({ place: z.string().describe('A city') })
const weather = tool(({ place }) => `21 degrees in ${place}`, {
  name: 'weather',
  description: 'The weather',
  schema: place,
})
const time = tool(() => '12:02', { name: 'time', description: 'The time', schema: place })
const openAITool = {
  type: 'function',
  function: { name: 'adder', description: 'Adds', parameters: z.toJSONSchema(adder) },
}

async function collected(stream) {
  let all
  for await (const chunk of await stream) {
    assert.ok(chunk instanceof AIMessageChunk)
    all = all === undefined ? chunk : all.concat(chunk)
  }
  return all
}

function isAnswer(message) {
  assert.ok(message instanceof AIMessage)
  assert.equal(typeof message.text, 'string')
  assert.notEqual(message.text, '')
}

function isUsage(usage) {
  for (const name of ['input_tokens', 'output_tokens', 'total_tokens']) assert.ok(usage[name] > 0, name)
}

// The upstream formats of these models are chat completions, messages and responses.
for (const name of ['only', 'poet', 'sage']) {
  const it = (what, run) => test(`${name}: ${what}`, run)
  const make = (fields = {}) => new ChatPostern({ model: name, ...connection, ...fields })

  // unit tests

  it('testChatModelInit', () => {
    const model = make({ temperature: 0, maxTokens: 100, timeout: 60_000, stopSequences: [], maxRetries: 2 })
    assert.deepEqual([model.temperature, model.maxTokens, model.timeout, model.stop], [0, 100, 60_000, []])
  })

  it('testChatModelInitApiKey', async () => {
    await assert.rejects(make({ apiKey: 'sk_live_unknown0123456789' }).invoke('Hello'), { name: 'AuthenticationError' })
  })

  it('testChatModelInitStreaming', async () => {
    const model = make({ streaming: true })
    const tokens = []
    const callbacks = [{ handleLLMNewToken: (token) => tokens.push(token) }]
    const message = await model.invoke('count to 5', { callbacks })
    assert.equal(message.text, counted(5))
    assert.equal(tokens.join(''), counted(5))
    isUsage(message.usage_metadata)
  })

  it('testChatModelWithBindTools', () => assert.ok(make().bindTools([new Adder()])))

  it('testChatModelWithStructuredOutput', () => assert.ok(make().withStructuredOutput(adder)))

  it('testStandardParams', () => {
    const params = make({ temperature: 0, maxTokens: 100 }).getLsParams({ stop: ['x'] })
    assert.deepEqual(params, {
      ls_provider: 'postern',
      ls_model_name: name,
      ls_model_type: 'chat',
      ls_temperature: 0,
      ls_max_tokens: 100,
      ls_stop: ['x'],
    })
  })

  // integration tests

  it('testInvoke', async () => isAnswer(await make().invoke('Hello')))

  it('testStream', async () => {
    const chunks = []
    for await (const chunk of await make().stream('count to 30')) {
      assert.ok(chunk instanceof AIMessageChunk)
      chunks.push(chunk.text)
    }
    assert.ok(chunks.length > 30)
    assert.equal(chunks.join(''), counted(30))
  })

  it('testBatch', async () => {
    const messages = await make().batch(['Hello', 'count to 3'])
    assert.deepEqual(
      messages.map(({ text }) => text),
      ['Hello from upstream', '1 2 3'],
    )
    messages.forEach(isAnswer)
  })

  it('testStreamEvents', async () => {
    const events = []
    for await (const event of make().streamEvents('count to 5', { version: 'v2' })) events.push(event)
    assert.equal(events[0].event, 'on_chat_model_start')
    assert.equal(events.at(-1).event, 'on_chat_model_end')
    const pieces = events.filter(({ event }) => event === 'on_chat_model_stream').map(({ data }) => data.chunk.text)
    assert.equal(pieces.join(''), counted(5))
    assert.equal(events.at(-1).data.output.text, counted(5))
  })

  it('testConversation', async () => {
    const messages = [new HumanMessage('hello'), new AIMessage('hello'), new HumanMessage('count to 4')]
    assert.equal((await make().invoke(messages)).text, counted(4))
  })

  it('testDoubleMessageConversation', async () => {
    const twice = (Message, text) => [new Message(text), new Message(text)]
    const messages = [
      ...twice(SystemMessage, 'Be brief.'),
      ...twice(HumanMessage, 'hello'),
      ...twice(AIMessage, 'hello'),
      new HumanMessage('count to 4'),
    ]
    assert.equal((await make().invoke(messages)).text, counted(4))
  })

  it('testUsageMetadata', async () => isUsage((await make().invoke('Hello')).usage_metadata))

  it('testUsageMetadataStreaming', async () => isUsage((await collected(make().stream('Hello'))).usage_metadata))

  it('testToolMessageHistoriesStringContent', async () => {
    const call = { name: 'adder', args: { a: 1, b: 2 }, id: 'abc123' }
    const messages = [
      new HumanMessage('What is 1 + 2?'),
      new AIMessage({ content: '', tool_calls: [call] }),
      new ToolMessage({ content: '{"sum":3}', tool_call_id: 'abc123', name: 'adder' }),
    ]
    assert.equal((await make().bindTools([new Adder()]).invoke(messages)).text, 'The tool said: {"sum":3}')
  })

  it('testToolMessageHistoriesListContent', async () => {
    const call = { name: 'adder', args: { a: 1, b: 2 }, id: 'abc123' }
    const content = [
      { type: 'text', text: 'Let me add.' },
      { type: 'tool_use', id: 'abc123', name: 'adder', input: { a: 1, b: 2 } },
    ]
    const messages = [
      new HumanMessage('What is 1 + 2?'),
      new AIMessage({ content, tool_calls: [call] }),
      new ToolMessage({ content: '{"sum":3}', tool_call_id: 'abc123', name: 'adder' }),
    ]
    assert.equal((await make().bindTools([new Adder()]).invoke(messages)).text, 'The tool said: {"sum":3}')
  })

  it('testStructuredFewShotExamples', async () => {
    const shot = (id, a, b) => [
      new HumanMessage(`What is ${a} + ${b}?`),
      new AIMessage({ content: '', tool_calls: [{ name: 'adder', args: { a, b }, id }] }),
      new ToolMessage({ content: String(a + b), tool_call_id: id, name: 'adder' }),
      new AIMessage(String(a + b)),
    ]
    const messages = [...shot('one', 1, 2), ...shot('two', 3, 4), new HumanMessage('count to 3')]
    assert.equal((await make().bindTools([new Adder()]).invoke(messages)).text, counted(3))
  })

  it('testWithStructuredOutput', async () => {
    for (const method of ['jsonSchema', 'functionCalling']) {
      const result = await make().withStructuredOutput(adder, { method }).invoke('Add')
      assert.ok(adder.safeParse(result).success, method)
      const plain = await make().withStructuredOutput(z.toJSONSchema(adder), { method, name: 'adder' }).invoke('Add')
      assert.ok(adder.safeParse(plain).success, method)
    }
  })

  it('testWithStructuredOutputIncludeRaw', async () => {
    const { raw, parsed } = await make().withStructuredOutput(adder, { includeRaw: true }).invoke('Add')
    assert.ok(raw instanceof AIMessage)
    assert.ok(adder.safeParse(parsed).success)
  })

  it('testBindToolsWithOpenAIFormattedTools', async () => {
    const [call] = (await make().bindTools([openAITool]).invoke('Add')).tool_calls
    assert.equal(call.name, 'adder')
    assert.ok(adder.safeParse(call.args).success)
  })

  it('testBindToolsWithRunnableToolLike', async () => {
    const runnable = RunnableLambda.from(({ a, b }) => a + b).asTool({
      name: 'adder',
      schema: adder,
      description: 'Adds',
    })
    const [call] = (await make().bindTools([runnable]).invoke('Add')).tool_calls
    assert.equal(call.name, 'adder')
  })

  it('testCacheComplexMessageTypes', async () => {
    const cache = new InMemoryCache()
    const model = make({ cache })
    const prompt = `count to 6, ${name}, cached by LangChain`
    const content = [{ type: 'text', text: prompt }]
    const first = await model.invoke([new HumanMessage({ content })])
    const second = await model.invoke([new HumanMessage({ content })])
    assert.deepEqual([first.text, second.text], [counted(6), counted(6)])
    const requests = (await gateway.seen()).filter(({ body }) => body.includes(prompt))
    assert.equal(requests.length, 1)
  })

  it('testStreamTokensWithToolCalls', async () => {
    const message = await collected(make().bindTools([new Adder()]).stream('Add'))
    isUsage(message.usage_metadata)
    assert.equal(message.tool_calls[0].name, 'adder')
  })

  it('testModelCanUseToolUseAIMessage', async () => {
    const model = make().bindTools([weather])
    const messages = [new HumanMessage('Weather?')]
    messages.push(await model.invoke(messages))
    messages.push(await weather.invoke(messages[1].tool_calls[0]))
    assert.match((await model.invoke(messages)).text, /21 degrees in/)
  })

  it('testModelCanUseToolUseAIMessageWithStreaming', async () => {
    const model = make().bindTools([weather])
    const messages = [new HumanMessage('Weather?')]
    messages.push(await collected(model.stream(messages)))
    messages.push(await weather.invoke(messages[1].tool_calls[0]))
    assert.match((await collected(model.stream(messages))).text, /21 degrees in/)
  })

  it('testInvokeMoreComplexTools', async () => {
    const schema = z.object({
      decision: z.enum(['UseAPI', 'UseFallback']),
      explanation: z.string(),
      apiDetails: z.object({ serviceName: z.string(), parameters: z.record(z.string(), z.unknown()) }),
    })
    const prompt = ChatPromptTemplate.fromMessages([
      ['system', 'Always use the {toolName} tool.'],
      ['human', 'Use the API.'],
    ])
    const model = make().withStructuredOutput(schema, { name: 'service', method: 'functionCalling' })
    const result = await prompt.pipe(model).invoke({ toolName: 'service' })
    assert.ok(schema.safeParse(result).success, JSON.stringify(result))
  })

  it('testParallelToolCalling', async () => {
    const model = make().bindTools([weather, time])
    const messages = [new HumanMessage('parallel, please')]
    const whole = await model.invoke(messages)
    const streamed = await collected(model.stream(messages))
    for (const first of [whole, streamed]) {
      assert.deepEqual(
        first.tool_calls.map((call) => call.name),
        ['weather', 'time'],
      )
      assert.equal(new Set(first.tool_calls.map(({ id }) => id)).size, 2)
      const results = await Promise.all(first.tool_calls.map((call, i) => [weather, time][i].invoke(call)))
      const last = await model.invoke([...messages, first, ...results])
      assert.match(last.text, /21 degrees in .*; 12:02$/)
      assert.deepEqual(last.tool_calls, [])
    }
  })

  it('testModelCanAcceptStructuredToolParamsSchema', async () => {
    const params = { name: 'weather', description: 'The weather', schema: place }
    const [call] = (await make().bindTools([params]).invoke('Weather?')).tool_calls
    assert.equal(call.name, 'weather')
    assert.equal(typeof call.args.place, 'string')
  })

  it('testStreamTools', async () => {
    const message = await collected(make().bindTools([weather, time], { tool_choice: 'time' }).stream('Time?'))
    assert.ok(message.tool_call_chunks.length > 0)
    assert.deepEqual(
      message.tool_calls.map((call) => call.name),
      ['time'],
    )
    assert.equal(typeof message.tool_calls[0].args.place, 'string')
  })

  it('testStandardTextContentBlocks', async () => {
    const content = [
      { type: 'text', text: 'count to ' },
      { type: 'text', text: '7' },
    ]
    isAnswer(await make().invoke([new HumanMessage({ contentBlocks: content })]))
  })

  it('testStandardImageContentBlocks', async () => {
    const image = { type: 'image', mimeType: 'image/png', data: picture }
    const url = { type: 'image', url: `data:image/png;base64,${picture}` }
    for (const block of [image, url]) {
      const text = { type: 'text', text: 'What is it?' }
      const message = await make().invoke([new HumanMessage({ contentBlocks: [text, block] })])
      assert.equal(message.text, 'I see an image (image/png, 8 bytes)')
    }
  })

  it('testStandardFileContentBlocks', async () => {
    const data = Buffer.from('%PDF-1.4').toString('base64')
    const block = { type: 'file', mimeType: 'application/pdf', data, metadata: { filename: 'a.pdf' } }
    const message = await make().invoke([
      new HumanMessage({ contentBlocks: [{ type: 'text', text: 'Read it.' }, block] }),
    ])
    assert.match(message.text, /^I see a file \((application\/)?pdf/)
  })
}

// Chat completions accept audio. Messages and responses do not.
test('only: testStandardAudioContentBlocks', async () => {
  const block = { type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' }
  const model = new ChatPostern({ model: 'only', ...connection })
  const message = await model.invoke([new HumanMessage({ contentBlocks: [{ type: 'text', text: 'Listen.' }, block] })])
  assert.match(message.text, /^I see a recording/)
})

for (const [mode, key] of [
  ['provider', apiKey],
  ['mock', await gateway.key(project, { environment: 'development' })],
]) {
  const it = (what, run) => test(`embeddings, ${mode}: ${what}`, run)
  const make = (fields = {}) => new PosternEmbeddings({ model: 'vectors', ...connection, apiKey: key, ...fields })
  const isVector = (vector) => assert.ok(vector.length >= 8 && vector.every(Number.isFinite))

  it('test_init', () => assert.equal(make().model, 'vectors'))

  it('test_embed_query', async () => {
    const model = make()
    const [one, same] = [await model.embedQuery('foo'), await model.embedQuery('foo')]
    isVector(one)
    assert.deepEqual(one, same)
  })

  it('test_embed_documents', async () => {
    const vectors = await make({ batchSize: 2 }).embedDocuments(['foo', 'bar', 'baz'])
    assert.equal(vectors.length, 3)
    vectors.forEach(isVector)
    assert.equal(new Set(vectors.map(({ length }) => length)).size, 1)
  })

  // LangChain JS has no synchronous methods, so test_aembed_query and test_aembed_documents would repeat the two
  // tests above.
}
