// What `make key` runs: creates a production key in the demo project of the running `make dev` and prints its value.
// Production keys call real providers; the demo project's own keys are answered by the mock.
import { existsSync, readFileSync } from 'node:fs'
import { KEYS_FILE } from './files.mjs'

if (!existsSync(KEYS_FILE)) {
  console.error('key: the gateway is not running. Start it with `make dev`, then try again.')
  process.exit(1)
}
const { baseUrl, projectId, adminToken } = JSON.parse(readFileSync(KEYS_FILE, 'utf8'))
const response = await fetch(`${baseUrl}/api/admin/projects/${projectId}/keys`, {
  method: 'POST',
  headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'Local production key', kind: 'gateway', environment: 'production' }),
})
const body = await response.text()
if (!response.ok) {
  console.error(`key: the gateway responded ${response.status}: ${body}`)
  process.exit(1)
}
console.log(JSON.parse(body).value)
