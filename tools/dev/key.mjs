// Implements `make key`: creates a production key in the demo project of the running `make dev` and prints its value.
// Production keys call real providers. The mock serves the demo project's own keys.
import { existsSync, readFileSync } from 'node:fs'
import { KEYS_FILE } from './files.mjs'

function fail(message) {
  console.error(`key: ${message}`)
  process.exit(1)
}

/** Sends an admin request and returns the response. Exits if the gateway does not respond with success. */
async function call(baseUrl, path, options) {
  const response = await fetch(baseUrl + path, options).catch(() =>
    fail(`nothing listens on ${baseUrl}. Start the gateway with \`make dev\`, then try again.`),
  )
  const body = await response.text()
  if (!response.ok) fail(`the gateway responded ${response.status}: ${body}`)
  return JSON.parse(body)
}

if (!existsSync(KEYS_FILE)) fail('the gateway is not running. Start it with `make dev`, then try again.')
const { baseUrl, projectId, adminToken } = JSON.parse(readFileSync(KEYS_FILE, 'utf8'))
const authorization = `Bearer ${adminToken}`
const { value } = await call(baseUrl, `/api/admin/projects/${projectId}/keys`, {
  method: 'POST',
  headers: { authorization, 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'Local production key', kind: 'gateway', environment: 'production' }),
})
console.log(value)

const { providers } = await call(baseUrl, '/api/admin/providers', { headers: { authorization } })
if (!providers.some(({ name, ready }) => ready && name !== 'mock')) {
  console.error('key: no provider has credentials yet, so requests with this key get 503.')
  console.error(
    'key: restart `make dev` with, for example, OPENAI_API_KEY=sk-…, or add a provider key in the dashboard.',
  )
}
