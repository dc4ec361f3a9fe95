// Installs the packed provider and ai 6 from the registry, as an outside user does. npm must report no conflict, the
// tests in this folder must pass with the installed packages, and a strict project must compile. For ai 7, the same
// tests run in the checkout, and clients/examples installs the packed provider.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../../../test/sdk/gateway.mjs'

const VERSION = '6.0.326'
const run = promisify(execFile)
const { zod } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).devDependencies
const folder = mkdtempSync(join(tmpdir(), 'postern-ai6-'))
after(() => rmSync(folder, { recursive: true }))

/** Runs a command and fails with its output. Nested test runs need node:test's variable to be unset. */
async function passes(command, args, variables = {}) {
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const ran = run(command, args, { cwd: folder, env: { ...inherited, ...variables }, maxBuffer: 1 << 24 })
  return ran.catch(({ stdout, stderr }) => assert.fail(stdout + stderr))
}

const sources = ['ts', 'ai-sdk'].map((name) => join(ROOT, 'clients', name))
const { stdout: packed } = await passes('npm', ['pack', '--silent', '--ignore-scripts', ...sources])
const given = [...packed.trim().split('\n'), `ai@${VERSION}`, `zod@${zod}`]
await passes('npm', ['install', '--strict-peer-deps', '--prefer-offline', '--no-audit', '--no-fund', ...given])

test('the version', () => {
  const { version } = JSON.parse(readFileSync(join(folder, 'node_modules/ai/package.json'), 'utf8'))
  assert.equal(version, VERSION)
})

test('the tests of this folder', async () => {
  const names = ['gateway', 'wire', 'stream', 'cuts', 'urls']
  const files = names.map((name) => join(import.meta.dirname, `${name}.test.mjs`))
  const hook = join(import.meta.dirname, 'installed.mjs')
  const { stdout } = await passes('node', ['--import', hook, '--test', ...files], { INSTALLED: folder })
  assert.match(stdout, /^# pass [1-9]\d\d$/m)
  assert.match(stdout, /^# fail 0$/m)
})

const TYPED = `
import { createPostern, type PosternProvider } from '@postern-ai/ai-sdk'
import { createProviderRegistry, embed, generateText, streamText, wrapLanguageModel } from 'ai'
const postern: PosternProvider = createPostern({ governor: { strictMode: true } })
const { text } = await generateText({ model: postern('cheap'), prompt: 'x' })
await embed({ model: postern.embeddingModel('vectors'), value: text })
streamText({ model: wrapLanguageModel({ model: postern.chat('cheap'), middleware: [] }), prompt: 'x' })
createProviderRegistry({ postern }).languageModel('postern:cheap')
`

test('a strict project', async () => {
  writeFileSync(join(folder, 'typed.mts'), TYPED)
  const lib = ['es2023', 'dom', 'dom.iterable', 'esnext.disposable']
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2023', lib, noEmit: true, skipLibCheck: true }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['typed.mts'] }))
  await passes(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder])
})
