// Runs the programs of docs/examples as a new user does.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT, startGateway } from './gateway.mjs'

const gateway = await startGateway()
const key = await gateway.key(await gateway.project(), { environment: 'development' })
const folder = join(ROOT, 'docs/examples')
const programs = readdirSync(folder).filter((name) => name.endsWith('.mjs'))

test('the folder has four programs', () => assert.equal(programs.length, 4))

for (const program of programs) {
  test(program, async () => {
    const env = { ...process.env, POSTERN_URL: gateway.url, POSTERN_KEY: key, AI_SDK_LOG_WARNINGS: 'false' }
    const { stdout } = await promisify(execFile)('node', [join(folder, program)], { env })
    assert.equal(stdout, "This is Postern's test mode. You said: Say this is a test\n")
  })
}
