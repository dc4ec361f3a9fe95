import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import { z } from 'zod'

const { POSTERN_API_KEY: apiKey, POSTERN_BASE_URL: url } = process.env
const modelProvider = new OpenAIProvider({ apiKey, baseURL: `${url}/v1` })
// Traces would go to OpenAI, past the gateway.
const runner = new Runner({ modelProvider, tracingDisabled: true })

const weather = tool({
  name: 'weather',
  description: 'The weather of a city',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `21 degrees in ${city}`,
})
const agent = new Agent({ name: 'Forecaster', instructions: 'Be brief.', model: 'gpt-4.1-mini', tools: [weather] })
const { finalOutput } = await runner.run(agent, 'What is the weather in Paris?')
console.log(finalOutput)
