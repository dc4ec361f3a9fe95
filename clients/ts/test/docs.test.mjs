// Runs every code block of docs/clients/typescript.md and of the package's README as written, against `postern
// serve`, in an empty folder with the packed client. It also tests a webhook that the server delivers.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { startServe } from '../../../test/serve.mjs'
import { Postern, verifyWebhook } from '../dist/index.js'

const ROOT = join(import.meta.dirname, '../../..')
const ADMIN_TOKEN = 'docs-tests-admin-token'
const run = promisify(execFile)

/** The blocks of a page, in order: [{language, text}]. A block without a language is an output that the page shows. */
function blocksOf(path) {
  const page = readFileSync(join(ROOT, path), 'utf8')
  return [...page.matchAll(/^( *)```(\w*)\n(.*?)^ *```$/gms)].map(([, indent, language, text]) => {
    return { language, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
  })
}

const blocks = blocksOf('docs/clients/typescript.md')
const of = (name) => blocks.filter(({ language }) => language === name).map(({ text }) => text)
const [preamble, ...snippets] = of('ts')

const folder = mkdtempSync(join(tmpdir(), 'postern-docs-'))
const repository = join(folder, 'repository')
const program = join(folder, 'program')
const server = await startServe(join(folder, 'data'), {
  POSTERN_ADMIN_TOKEN: ADMIN_TOKEN,
  POSTERN_PRIVATE_WEBHOOKS: 'on', // for the receiver below
})
after(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

async function admin(path, body, method = 'POST') {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
  const response = await fetch(`${server.url}/api/admin/${path}`, { method, headers, body: JSON.stringify(body) })
  assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`)
  return response.json()
}

/** Creates what `make dev` creates: a project, and .dev/keys.json with its keys. */
async function demo() {
  const project = await admin('projects', { name: 'Demo', plan: 'developer' })
  await admin(`projects/${project.id}/governor`, { enabled: true }, 'PUT')
  const key = async (kind) =>
    (await admin(`projects/${project.id}/keys`, { name: kind, kind, environment: 'development' })).value
  const keys = { adminToken: ADMIN_TOKEN, gatewayKey: await key('gateway'), projectKey: await key('project') }
  write(join(repository, '.dev/keys.json'), JSON.stringify(keys))
  return keys
}

function write(path, text, mode) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode })
}

const keys = await demo()
mkdirSync(program)
write(join(repository, 'clients/build.mjs'), '') // instead of the build, whose output already exists
symlinkSync(join(ROOT, 'clients/ts'), join(repository, 'clients/ts'))
// The binary that startServe built, instead of `go run ./cmd/postern`.
write(join(folder, 'bin/go'), `#!/bin/sh\nshift 2\nexec ${join(ROOT, 'build/test/postern')} "$@"\n`, 0o755)

const npm = { npm_config_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' }
const bin = `${join(folder, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`
let variables = { ...npm, PATH: bin, HOME: folder, POSTERN_BASE_URL: server.url }

/** Runs a block of shell commands and keeps the variables that it exports. `…` is the other folder. */
async function shell(text, where) {
  const other = where === program ? repository : program
  const words = text.replaceAll('…', other).replaceAll('http://127.0.0.1:8787', server.url)
  const out = join(folder, 'variables')
  const result = await run('bash', ['-ec', `${words}\nenv -0 >${out}`], { cwd: where, env: variables })
  const entries = readFileSync(out, 'utf8').split('\0').filter(Boolean)
  variables = Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s, 2)))
  return result.stdout
}

/** Packs an installed package, as the registry has it. */
function pack(name) {
  const flags = ['--silent', '--ignore-scripts']
  const packed = execFileSync('npm', ['pack', join(ROOT, 'node_modules', name), ...flags], {
    cwd: folder,
    encoding: 'utf8',
  })
  return join(folder, packed.trim())
}

const commands = of('sh')

test('the quick start, with the commands and the output of the page', async () => {
  const [dev, build, install, start, empty, startEmpty, projectKey] = commands
  assert.equal(dev, 'make dev\n') // test/dev tests this block, and here the server is already running
  await shell(build, repository)
  assert.equal(variables.POSTERN_API_KEY, keys.gatewayKey)
  await shell(install, program)
  const [main] = of('js')
  write(join(program, /^\/\/ (\S+)\n/.exec(main)[1]), main)
  const [shown] = of('')
  assert.equal(await shell(start, program), shown)
  await shell(empty, repository)
  assert.match(await shell(startEmpty, program), /^no budget left for request req_[0-9a-f]{32}\n$/)
  await shell(projectKey, repository)
  assert.equal(variables.PROJECT_KEY, keys.projectKey)
  delete variables.POSTERN_ADMIN_TOKEN
})

test('the snippets are right for the type checker', async () => {
  await run('npm', ['install', pack('zod')], { cwd: program, env: variables })
  const declared = `
    declare module 'node:fs' { export function createWriteStream(path: string): { write(text: string): void; end(): void } }
    declare const process: { stdout: { write(text: string): void }; env: Record<string, string | undefined> }`
  write(join(program, 'node.d.ts'), declared)
  const files = snippets.map((text, i) => {
    write(join(program, `snippet${i}.mts`), preamble + text)
    return `snippet${i}.mts`
  })
  const [example] = blocksOf('clients/ts/README.md').filter(({ language }) => language === 'ts')
  write(join(program, 'readme.mts'), example.text)
  const flags = ['--strict', '--noEmit', '--skipLibCheck', '--target', 'es2023', '--module', 'nodenext']
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), [...flags, 'node.d.ts', 'readme.mts', ...files], {
    cwd: program,
    stdio: 'inherit',
  })
})

/** Calls to functions that a block only exports. */
const CALLS = {
  POST: `const answer = await POST(new Request('http://app.test', { method: 'POST', body: 'Hello!' }))
    if (!(await answer.text()).endsWith('Hello!')) throw new Error('another answer')`,
  hook: `process.env.POSTERN_WEBHOOK_SECRET = 'whsec_' + btoa('x'.repeat(24))
    const refused = await hook(new Request('http://app.test', { method: 'POST', body: '{}' }))
    if ((await refused.text()) !== 'missing_header') throw new Error('another answer')`,
}

const runFile = (name) =>
  run(process.execPath, ['--experimental-strip-types', '--no-warnings', name], { cwd: program, env: variables })

describe('each snippet runs, and runs again', () => {
  for (const [i, text] of snippets.entries()) {
    test(text.split('\n')[0], async () => {
      const [, name] = /^export async function (\w+)/m.exec(text) ?? []
      write(join(program, `run${i}.mts`), preamble + text + (CALLS[name] ?? ''))
      await runFile(`run${i}.mts`)
      const { stdout } = await runFile(`run${i}.mts`)
      if (text.includes('population')) assert.equal(stdout, 'text 1\n') // as the page says
    })
  }

  test('the example of the README', async () => {
    const { stdout } = await runFile('readme.mts')
    assert.match(stdout, /You said: Hello!$/)
  })
})

test('the export is verified, and undici is found by the client', async () => {
  const [, , , , , , , verify, install, ...others] = commands
  assert.deepEqual(others, [])
  const summary = await fetch(`${server.url}/api/compliance/summary`, { headers: { 'x-api-key': keys.projectKey } })
  const { publicKey } = (await summary.json()).signing.publicKeys[0]
  await shell(verify.replace('PUBLIC_KEY', publicKey), repository)
  assert.match(install, /^npm install undici /)
  await shell(install.replace('undici', pack('undici')), program)
  await shell("node -e \"import('undici').then(({ ProxyAgent }) => new ProxyAgent('http://127.0.0.1:1'))\"", program)
})

/**
 * The next event of a type that a server on this machine receives: its body and headers, as Node.js provides them. Events of
 * the daily work may come before it.
 */
function receiver(type) {
  const { promise, resolve } = Promise.withResolvers()
  const receiving = createServer(async (request, response) => {
    const chunks = await Array.fromAsync(request)
    response.writeHead(204).end()
    const body = Buffer.concat(chunks)
    if (JSON.parse(body).type === type) resolve([body, request.headers])
  })
  after(() => receiving.close())
  const url = once(receiving.listen(0, '127.0.0.1'), 'listening').then(() => {
    return `http://127.0.0.1:${receiving.address().port}/hook`
  })
  return { url, delivery: promise }
}

test('a delivery of the gateway is verified', async () => {
  const { url, delivery } = receiver('violation.created')
  const { id, version } = await admin('projects', { name: 'Alerts', plan: 'developer' })
  const { alerts } = await admin(`projects/${id}`, { version, alerts: { url: await url } }, 'PATCH')
  await admin(`projects/${id}/governor`, { enabled: true }, 'PUT')
  const { value: apiKey } = await admin(`projects/${id}/keys`, { name: 'Alerts', environment: 'development' })
  const content = `My token is ghp_${randomBytes(18).toString('hex')}.`
  await new Postern({ apiKey, baseURL: server.url }).ai.complete({ messages: [{ role: 'user', content }] })
  const [body, headers] = await delivery
  const event = await verifyWebhook(body, headers, { secret: alerts.secret })
  assert.deepEqual([event.data.projectId, event.data.violation.rule], [id, 'secret.github-token'])
  const other = verifyWebhook(`${body} `, headers, { secret: alerts.secret })
  await assert.rejects(other, { name: 'WebhookVerificationError', code: 'invalid_signature' })
})
