import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'

const { POSTERN_API_KEY: apiKey, POSTERN_BASE_URL: url } = process.env
const weather = createTool({
  id: 'weather',
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `21 degrees in ${city}`,
})

const agent = new Agent({
  id: 'forecaster',
  name: 'Forecaster',
  instructions: 'Be brief.',
  model: { id: 'postern/gpt-4.1-mini', url: `${url}/v1`, apiKey },
  tools: { weather },
})
const { text } = await agent.generate('What is the weather in Paris?')
console.log(text)
