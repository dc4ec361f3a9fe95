// The gateway's address and an API key: from POSTERN_BASE_URL and POSTERN_API_KEY, else from the .dev/keys.json that a
// running `make dev` writes. The file is searched from this folder upward, then from the working directory upward.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

function devKeys(folder) {
  const file = join(folder, '.dev/keys.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  return folder === dirname(folder) ? undefined : devKeys(dirname(folder))
}

const { POSTERN_BASE_URL, POSTERN_API_KEY } = process.env
const dev = devKeys(import.meta.dirname) ?? devKeys(process.cwd())

/** Without a path: OpenAI's SDKs need /v1 after it. */
export const baseURL = POSTERN_BASE_URL || dev?.baseUrl
export const apiKey = POSTERN_API_KEY || dev?.gatewayKey

if (!baseURL || !apiKey) {
  console.error('Start the gateway with `make dev` first, or set POSTERN_BASE_URL and POSTERN_API_KEY.')
  process.exit(1)
}
