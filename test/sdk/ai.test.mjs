// The unmodified Vercel AI SDK with both provider packages, and LangChain.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { HumanMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { APICallError, embed, generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { counted, picture, startGateway } from './gateway.mjs'

globalThis.AI_SDK_LOG_WARNINGS = false
const gateway = await startGateway()
const project = await gateway.project()
const live = await gateway.key(project)
const mock = await gateway.key(project, { environment: 'development' })
const baseURL = `${gateway.url}/v1`
const City = z.object({ city: z.string() })

for (const [mode, apiKey] of [
  ['provider', live],
  ['mock', mock],
]) {
  const real = mode === 'provider'
  const openai = createOpenAI({ baseURL, apiKey })
  const anthropic = createAnthropic({ baseURL, apiKey })
  for (const name of ['only', 'poet']) {
    for (const [api, model] of [
      ['responses', openai(name)],
      ['chat', openai.chat(name)],
      ['messages', anthropic(name)],
    ]) {
      const it = (what, run) => test(`ai, ${mode}, ${name} by ${api}: ${what}`, run)

      it('text', async () => {
        const { text, usage } = await generateText({ model, prompt: `Hello ${api}`, maxRetries: 0 })
        assert.match(text, real ? /^Hello from upstream$/ : /Hello/)
        assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0)
      })

      it('stream', async () => {
        const result = streamText({ model, prompt: 'count to 30', maxRetries: 0 })
        let text = ''
        for await (const piece of result.textStream) text += piece
        assert.equal(text, real ? counted(30) : "This is Postern's test mode. You said: count to 30")
        assert.equal(await result.finishReason, 'stop')
        assert.ok((await result.usage).outputTokens > 0)
      })

      it('tool round trip, streamed', async () => {
        const weather = tool({ inputSchema: City, execute: async ({ city }) => `21 degrees in ${city}` })
        const stopWhen = stepCountIs(3)
        const result = streamText({ model, prompt: `weather ${api}`, tools: { weather }, stopWhen, maxRetries: 0 })
        assert.match(await result.text, /21 degrees in/)
        assert.equal((await result.steps).length, 2)
      })

      it('structured output', async () => {
        const output = Output.object({ schema: City })
        const result = await generateText({ model, prompt: 'A city', output, maxRetries: 0 })
        assert.equal(typeof result.output.city, 'string')
      })

      it('image input', async () => {
        const content = [
          { type: 'text', text: `What is it, ${api}?` },
          { type: 'image', image: Buffer.from(picture, 'base64'), mediaType: 'image/png' },
        ]
        const { text } = await generateText({ model, messages: [{ role: 'user', content }], maxRetries: 0 })
        assert.match(text, real ? /image\/png, 8 bytes/ : /\[image\]/)
      })
    }
  }

  test(`ai, ${mode}: embedding`, async () => {
    const { embedding } = await embed({ model: openai.embedding('vectors'), value: 'text', maxRetries: 0 })
    assert.ok(embedding.length >= 8 && embedding.every(Number.isFinite))
  })

  const chat = (model) => new ChatOpenAI({ model, apiKey, configuration: { baseURL }, maxRetries: 0 })
  for (const name of ['only', 'poet']) {
    const it = (what, run) => test(`langchain, ${mode}, ${name}: ${what}`, run)

    it('chat and stream', async () => {
      assert.match((await chat(name).invoke('Hello')).content, real ? /^Hello from upstream$/ : /Hello$/)
      let text = ''
      for await (const chunk of await chat(name).stream('count to 30')) text += chunk.content
      assert.equal(text, real ? counted(30) : "This is Postern's test mode. You said: count to 30")
    })

    it('tool round trip', async () => {
      const weather = langchainTool(({ city }) => `21 degrees in ${city}`, { name: 'weather', schema: City })
      const model = chat(name).bindTools([weather])
      const messages = [new HumanMessage('Paris?')]
      const first = await model.invoke(messages)
      assert.equal(first.tool_calls[0].name, 'weather')
      const second = await model.invoke([...messages, first, await weather.invoke(first.tool_calls[0])])
      assert.match(second.content, /21 degrees/)
    })

    it('structured output', async () => {
      const answer = await chat(name).withStructuredOutput(City).invoke('A city')
      assert.equal(typeof answer.city, 'string')
    })
  }

  test(`langchain, ${mode}: embeddings`, async () => {
    const embeddings = new OpenAIEmbeddings({ model: 'vectors', apiKey, configuration: { baseURL }, maxRetries: 0 })
    const vectors = await embeddings.embedDocuments(['one', 'two'])
    assert.equal(vectors.length, 2)
    assert.ok(vectors[0].length >= 8)
  })
}

test('ai: errors and broken streams are API errors', async () => {
  const openai = createOpenAI({ baseURL, apiKey: live })
  await assert.rejects(generateText({ model: openai('nope'), prompt: 'x', maxRetries: 0 }), (error) => {
    assert.ok(APICallError.isInstance(error))
    assert.equal(error.statusCode, 404)
    return true
  })
  for (const model of [openai('only'), openai.chat('only'), createAnthropic({ baseURL, apiKey: live })('poet')]) {
    await gateway.next({ kind: 'error-event' })
    const errors = []
    const result = streamText({
      model,
      prompt: `count to 40 ${model.provider}`,
      maxRetries: 0,
      onError: ({ error }) => errors.push(error),
    })
    let finished = false
    for await (const part of result.fullStream) finished ||= part.type === 'finish' && part.finishReason === 'stop'
    assert.equal(errors.length, 1, model.provider)
    assert.equal(finished, false, model.provider)
  }
})
