// Starts the scripted server of the table for the tests of a file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('../../../test/clients/server.mjs', import.meta.url))

/** The URL of a scripted server that runs until the file's tests have ended. */
export async function startServer() {
  const child = spawn(process.execPath, [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  after(() => child.stdin.end())
  return JSON.parse(line).url
}
