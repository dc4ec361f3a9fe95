// The packed provider beside ai 6 and ai 7, installed from the registry as a stranger does: npm reports no conflict, the
// tests of this folder pass with the installed packages, and a strict project compiles.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../../../test/sdk/gateway.mjs'

const run = promisify(execFile)
const { ai, zod } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).devDependencies
// The second is also what the tests of this folder have in the checkout.
const VERSIONS = { 6: '6.0.326', 7: ai }
const packages = mkdtempSync(join(tmpdir(), 'postern-versions-'))
after(() => rmSync(packages, { recursive: true }))

const TYPED = `
import { createPostern, type PosternProvider } from '@postern-ai/ai-sdk'
import { createProviderRegistry, embed, generateText, streamText, wrapLanguageModel } from 'ai'
const postern: PosternProvider = createPostern({ governor: { strictMode: true } })
const { text } = await generateText({ model: postern('cheap'), prompt: 'x' })
await embed({ model: postern.embeddingModel('vectors'), value: text })
streamText({ model: wrapLanguageModel({ model: postern.chat('cheap'), middleware: [] }), prompt: 'x' })
createProviderRegistry({ postern }).languageModel('postern:cheap')
`

/** Runs a program of this checkout, and fails with its output. Tests within tests need the variable of node:test unset. */
async function passes(command, args, options = {}) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const ran = run(command, args, { ...options, env: { ...env, ...options.env }, maxBuffer: 1 << 24 })
  return ran.catch(({ stdout, stderr }) => assert.fail(stdout + stderr))
}

const packed = await Promise.all(
  ['ts', 'ai-sdk'].map(async (name) => {
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', packages]
    const { stdout } = await run('npm', args, { cwd: join(ROOT, 'clients', name) })
    return join(packages, stdout.trim())
  }),
)

/** Installs the packed packages and a version, and returns the folder. */
async function installed(version) {
  const folder = join(packages, version)
  const given = [...packed, `ai@${version}`, `zod@${zod}`]
  const flags = ['--strict-peer-deps', '--prefer-offline', '--no-audit', '--no-fund']
  await passes('npm', ['install', '--prefix', folder, ...flags, ...given])
  return folder
}

const folders = await Promise.all(Object.values(VERSIONS).map(installed))

for (const [index, [major, version]] of Object.entries(VERSIONS).entries()) {
  const folder = folders[index]

  test(`ai ${major}: the version`, () => {
    const { version: found } = JSON.parse(readFileSync(join(folder, 'node_modules/ai/package.json'), 'utf8'))
    assert.equal(found, version)
  })

  test(`ai ${major}: the tests of this folder`, async () => {
    // In the checkout, all of them run with ai 7.
    const names = major === '6' ? ['gateway', 'wire', 'stream', 'cuts', 'urls'] : ['wire']
    const files = names.map((name) => join(import.meta.dirname, `${name}.test.mjs`))
    const hook = join(import.meta.dirname, 'installed.mjs')
    const { stdout } = await passes('node', ['--import', hook, '--test', ...files], { env: { INSTALLED: folder } })
    assert.match(stdout, /^# pass [1-9]\d+$/m)
    assert.match(stdout, /^# fail 0$/m)
  })

  test(`ai ${major}: a strict project`, async () => {
    writeFileSync(join(folder, 'typed.mts'), TYPED)
    const lib = ['es2023', 'dom', 'dom.iterable', 'esnext.disposable']
    const compilerOptions = {
      strict: true,
      module: 'nodenext',
      target: 'es2023',
      lib,
      noEmit: true,
      skipLibCheck: true,
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['typed.mts'] }))
    await passes(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder])
  })
}
