// Commands and code to copy. In each of them, the API key appears only where it is assigned to a variable.

/** Quotes a text as a single literal word for POSIX shells. */
export function shellQuoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/**
 * A curl command with the key as $POSTERN_API_KEY.
 * @param {string} url
 * @param {object} [body] sent as JSON by POST
 * @param {boolean} [streams] the response is a stream; adds -N, so curl prints it as it arrives
 */
export function curl(url, body, streams = false) {
  const parts = [`curl${streams ? ' -N' : ''} ${shellQuoted(url)}`, '-H "X-API-Key: $POSTERN_API_KEY"']
  if (body) parts.push("-H 'Content-Type: application/json'", `-d ${shellQuoted(JSON.stringify(body))}`)
  return parts.join(' \\\n  ')
}

/** A curl command that repeats a request. The body and the key are placeholders, because neither is stored. */
export function curlAgain(origin, { method, endpoint }) {
  const parts = [`curl -X ${method} ${shellQuoted(origin + endpoint)}`, '-H "X-API-Key: $POSTERN_API_KEY"']
  if (method === 'POST') parts.push("-H 'Content-Type: application/json'", "-d '<the body, which is not stored>'")
  return parts.join(' \\\n  ')
}

export function exportLine(value) {
  return `export POSTERN_API_KEY=${shellQuoted(value)}`
}

const HELLO = { messages: [{ role: 'user', content: 'Hello!' }] }

/** Snippets that use a key, each as {title, text}. */
export function snippetsFor(origin, projectId, { kind, value }) {
  if (kind === 'project') {
    const url = `${origin}/api/usage?projectId=${encodeURIComponent(projectId)}`
    return [{ title: 'curl', text: `${exportLine(value)}\n${curl(url)}` }]
  }
  return [
    { title: 'curl', text: `${exportLine(value)}\n${curl(`${origin}/api/ai/complete`, HELLO)}` },
    { title: 'OpenAI SDK', text: openai(origin) },
    { title: 'Anthropic SDK', text: anthropic(origin) },
    { title: 'fetch', text: fetchSnippet(origin) },
  ]
}

const openai = (origin) => `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${origin}/v1',
  apiKey: process.env.POSTERN_API_KEY,
})
const completion = await client.chat.completions.create({
  model: 'balanced',
  messages: [{ role: 'user', content: 'Hello!' }],
})
console.log(completion.choices[0].message.content)
`

const anthropic = (origin) => `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: '${origin}',
  apiKey: process.env.POSTERN_API_KEY,
})
const message = await client.messages.create({
  model: 'balanced',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello!' }],
})
console.log(message.content)
`

const fetchSnippet = (origin) => `const response = await fetch('${origin}/api/ai/complete', {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',
    'X-API-Key': process.env.POSTERN_API_KEY,
  },
  body: JSON.stringify({
    quality: 'balanced',
    messages: [{ role: 'user', content: 'Hello!' }],
  }),
})
console.log(await response.json())
`
