// Proxies from the environment, in Node.js. Programs with the packed client, with and without the package undici, run
// behind a real proxy. The gateway's host does not exist, so nothing arrives without the proxy.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { proxyOf } from '../dist/proxy.js'
import { startProxy, startTLS } from './proxy-server.mjs'
import { startServer } from './server.mjs'

const ROOT = join(import.meta.dirname, '../../..')
const NODES = { 'Node 20': join(ROOT, '.tools/runtimes/node20'), 'this Node': process.execPath }
const PASSWORD = 'us%er:p@ss word'
const LOGIN = PASSWORD.split(':').map(encodeURIComponent).join(':')
const server = await startServer()
const folder = mkdtempSync(join(tmpdir(), 'postern-proxy-'))
const tls = await startTLS(server, 'gateway.test', folder)
const stops = [tls.stop]
after(() => {
  for (const stop of stops) stop()
  rmSync(folder, { recursive: true })
})

const PROGRAM = `
  import { Postern } from '@postern-ai/client'
  const logs = []
  const logger = ({ time, ...record }) => logs.push(record)
  const options = { apiKey: 'sk_test_a', baseURL: process.argv[2], retries: 0, timeout: 10_000, logging: { logger } }
  const postern = new Postern(options)
  const hello = { messages: [{ role: 'user', content: 'Hello!' }] }
  const results = []
  const note = async (run) => results.push(await run().catch(({ name, message }) => ({ name, message })))
  await note(async () => (await postern.health.get()).projectId)
  await note(async () => (await postern.ai.chat(hello)).text())
  await note(async () => {
    for await (const event of postern.ai.chat(hello)) return event.text
  })
  const controller = new AbortController()
  process.stdin.once('data', () => controller.abort())
  await note(() => postern.health.get({ signal: controller.signal }))
  await note(() => postern.health.get({ timeout: 500 }))
  console.log(JSON.stringify({ results, logs }))
  process.exit(0)`

const [{ filename }] = JSON.parse(npm('pack', join(ROOT, 'clients/ts'), '--json', '--pack-destination', folder))
for (const name of ['with', 'without']) {
  const program = join(folder, name)
  mkdirSync(program)
  writeFileSync(join(program, 'package.json'), '{}')
  npm('install', '--prefix', program, join(folder, filename))
  writeFileSync(join(program, 'main.mjs'), PROGRAM)
}
symlinkSync(join(ROOT, 'node_modules/undici'), join(folder, 'with/node_modules/undici'))

function npm(...args) {
  const flags = ['--offline', '--loglevel=error', '--no-audit', '--no-fund']
  return execFileSync('npm', [...args, ...flags], { cwd: folder, encoding: 'utf8' })
}

let cases = 0

/** Runs the program and returns what it printed, and the requests that arrived at the gateway. */
async function run({
  node = process.execPath,
  undici = true,
  scheme = 'http',
  host = 'gateway.test',
  program = 'main.mjs',
  env,
  flags = [],
}) {
  const id = `proxy${++cases}`
  const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2, costCents: 0 }
  const script = [
    { json: { status: 'ok', authenticated: true, project_id: 'proj_1' } },
    {
      sse: [
        { type: 'delta', text: 'Hi' },
        { type: 'delta', text: '!' },
        { type: 'done', usage },
      ],
    },
    { sse: [{ type: 'delta', text: 'first' }], end: 'hang' },
    { fault: 'hang' },
    { fault: 'hang' },
  ]
  await fetch(`${server}/__cases/${id}`, { method: 'PUT', body: JSON.stringify(script) })
  const running = promisify(execFile)(node, [...flags, program, `${scheme}://${host}/c/${id}`], {
    cwd: join(folder, undici ? 'with' : 'without'),
    env: { NODE_EXTRA_CA_CERTS: tls.certificate, ...env },
  })
  const received = async () => (await fetch(`${server}/__cases/${id}`)).json()
  const abort = async () => {
    while (running.child.exitCode === null && (await received()).length < 4) await setTimeout(20)
    running.child.stdin.end('abort')
  }
  running.child.stdin.on('error', () => {}) // the program has ended
  const [{ stdout, stderr }] = await Promise.all([running, abort()])
  return { ...JSON.parse(stdout), stdout, stderr, requests: await received() }
}

async function proxy(options) {
  const started = await startProxy(server, { tls: tls.port, ...options })
  stops.push(started.stop)
  return started
}

/** A call, a stream, an abandoned stream, an abort and a timeout, all through the proxy. */
function assertThrough({ results, logs, requests }, { seen }) {
  const late = 'GET /api/health timed out after 500 ms'
  assert.deepEqual(results, [
    'proj_1',
    'Hi!',
    'first',
    { name: 'APIAbortedError', message: 'The call was aborted' },
    { name: 'APITimeoutError', message: late },
  ])
  assert.deepEqual(
    logs.map(({ msg }) => msg),
    ['request_failed'],
  )
  assert.ok(requests.length >= 4) // the last one may be late
  assert.ok(requests.every(({ headers }) => headers['proxy-authorization'] === undefined))
  assert.ok(seen.length > 0)
  assert.ok(seen.every(({ address }) => address.includes('gateway.test')))
}

for (const [version, node] of Object.entries(NODES)) {
  test(`${version}: undici sends calls, streams and aborts through the proxy`, async () => {
    const { address, seen } = await proxy()
    assertThrough(await run({ node, env: { HTTP_PROXY: `http://${address}` } }), { seen })
  })

  test(`${version}: a gateway with TLS is tunneled, by a proxy with a password`, async () => {
    const { address, seen } = await proxy({ password: PASSWORD })
    const env = { https_proxy: `http://${LOGIN}@${address}`, HTTPS_PROXY: 'http://127.0.0.1:1' } // lower case comes first
    assertThrough(await run({ node, scheme: 'https', env }), { seen })
    assert.deepEqual(
      new Set(seen.map(({ method, address }) => `${method} ${address}`)),
      new Set(['CONNECT gateway.test:443']),
    )
  })
}

test('so does the CommonJS module', async () => {
  const program = PROGRAM.replace(/import (.*) from (.*)/, 'const $1 = require($2)')
  writeFileSync(join(folder, 'with/main.cjs'), `(async () => {${program}})()`)
  const { address, seen } = await proxy()
  assertThrough(await run({ program: 'main.cjs', env: { HTTP_PROXY: address } }), { seen }) // http:// may be left out
})

test('a wrong password, and a proxy that refuses, are connection errors without the password', async () => {
  for (const [options, status] of [
    [{ password: 'other' }, 407],
    [{ refuses: 403 }, 403],
  ]) {
    const { address, seen } = await proxy(options)
    const { results, stdout, stderr, requests } = await run({ env: { HTTP_PROXY: `http://${LOGIN}@${address}` } })
    assert.deepEqual([requests, seen.length >= 5], [[], true])
    const failed = `connection to http://gateway.test failed (the proxy answered ${status})`
    assert.deepEqual(results[0], { name: 'APIConnectionError', message: `GET /api/health: ${failed}` })
    for (const secret of [LOGIN, PASSWORD, 'p@ss', 'p%40ss', Buffer.from(PASSWORD).toString('base64')])
      assert.ok(!(stdout + stderr).includes(secret), stdout)
  }
})

test('without undici, a warning names the remedies once, and never the proxy', async () => {
  const { address, seen } = await proxy()
  const { results, logs, stdout, stderr } = await run({
    undici: false,
    env: { HTTP_PROXY: `http://${LOGIN}@${address}` },
  })
  assert.equal(seen.length, 0)
  assert.equal(results[0].name, 'APIConnectionError')
  const ignored = logs.filter(({ msg }) => msg === 'proxy_ignored')
  assert.deepEqual([ignored.length, ignored[0].level, ignored[0].variable], [1, 'warn', 'HTTP_PROXY'])
  assert.match(ignored[0].remedy, /npm install undici.*NODE_USE_ENV_PROXY=1/)
  assert.ok(!(stdout + stderr).includes('p%40ss') && !stdout.includes(address))
})

test('a proxy that is no http URL is ignored with the warning', async () => {
  for (const value of [`socks5://${LOGIN}@127.0.0.1:1`, 'http://p%40ss@[']) {
    const { logs, stdout } = await run({ env: { HTTP_PROXY: value } })
    assert.equal(logs.filter(({ msg }) => msg === 'proxy_ignored').length, 1, value)
    assert.ok(!stdout.includes('p%40ss'), stdout)
  }
})

test('NODE_USE_ENV_PROXY=1 is enough, and a dispatcher of the program is left alone', async () => {
  const { address, seen } = await proxy()
  const env = { HTTP_PROXY: `http://${address}`, NODE_USE_ENV_PROXY: '1' }
  assertThrough(await run({ undici: false, env }), { seen })
  const own = await proxy()
  const set = `const { ProxyAgent, setGlobalDispatcher } = await import('${pathToFileURL(join(ROOT, 'node_modules/undici/index.js'))}')
    setGlobalDispatcher(new ProxyAgent('http://${own.address}'))`
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(set)}`]
  assertThrough(await run({ flags, env: { HTTP_PROXY: 'http://127.0.0.1:1' } }), own)
})

test('a global fetch that the program changes later is used as it is', async () => {
  const own = `async () => Response.json({ status: 'ok', authenticated: true, project_id: 'own' })`
  writeFileSync(
    join(folder, 'with/changed.mjs'),
    PROGRAM.replace('const logs', `globalThis.fetch = ${own}\nconst logs`),
  )
  const { results } = await run({ program: 'changed.mjs', env: { HTTP_PROXY: 'http://127.0.0.1:1' } })
  assert.equal(results[0], 'own')
})

test('NO_PROXY and the machine itself are reached directly', async () => {
  const { host, port } = new URL(server)
  const direct = await run({ host, env: { HTTP_PROXY: 'http://127.0.0.1:1' } })
  assert.deepEqual([direct.results[0], direct.results[1]], ['proj_1', 'Hi!'])
  const { address, seen } = await proxy()
  const env = { HTTP_PROXY: `http://${address}`, NO_PROXY: 'example.com, .test' }
  const { results, logs } = await run({ undici: false, env })
  assert.equal(results[0].name, 'APIConnectionError') // there is no such host
  assert.deepEqual([seen.length, logs.some(({ msg }) => msg === 'proxy_ignored'), port !== ''], [0, false, true])
})

test('which variable is for which gateway', () => {
  const proxies = { HTTP_PROXY: 'http://plain', HTTPS_PROXY: 'http://secure' }
  const found = (url, env) => {
    Object.assign(process.env, env)
    const result = proxyOf(new URL(url))
    for (const name of Object.keys(env)) delete process.env[name]
    return result?.proxy
  }
  assert.equal(found('http://gateway.test', proxies), 'http://plain')
  assert.equal(found('https://gateway.test', proxies), 'http://secure')
  assert.equal(found('https://gateway.test', { HTTP_PROXY: 'http://plain' }), undefined)
  assert.equal(found('https://gateway.test', { ...proxies, https_proxy: 'http://lower' }), 'http://lower')
  assert.equal(found('https://gateway.test', { ...proxies, https_proxy: '' }), 'http://secure')
  for (const url of ['http://localhost', 'http://a.localhost', 'http://127.0.0.1:8787', 'http://[::1]'])
    assert.equal(found(url, proxies), undefined, url)
  const covered = [
    '*',
    'gateway.test',
    '.test',
    '*.test',
    'test',
    'GATEWAY.test',
    'a.example,gateway.test',
    'a  gateway.test:443',
  ]
  for (const NO_PROXY of covered)
    assert.equal(found('https://gateway.test', { ...proxies, NO_PROXY }), undefined, NO_PROXY)
  assert.equal(found('https://gateway.test', { ...proxies, NO_PROXY: 'other.test', no_proxy: '*' }), undefined)
  const others = [
    '',
    ',',
    '.',
    'way.test',
    'a.gateway.test',
    'gateway.test:8443',
    'gateway',
    'gateway.test.',
    'http://gateway.test',
  ]
  for (const NO_PROXY of others)
    assert.equal(found('https://gateway.test', { ...proxies, NO_PROXY }), 'http://secure', NO_PROXY)
  assert.equal(found('https://gateway.test:8443', { ...proxies, NO_PROXY: 'gateway.test:8443' }), undefined)
  for (const NO_PROXY of ['[fd00::1]', 'fd00::1', '[FD00::1]:80'])
    assert.equal(found('http://[fd00::1]:80', { ...proxies, NO_PROXY }), undefined, NO_PROXY)
  assert.equal(found('http://10.0.0.1', { ...proxies, NO_PROXY: '10.0.0.1' }), undefined)
  for (const NO_PROXY of ['0.1', '.0.0.1', '*.1', '1', '10.0.0.0/8']) {
    assert.notEqual(found('http://10.0.0.1', { ...proxies, NO_PROXY }), undefined, NO_PROXY)
  }
  assert.notEqual(found('http://[fd00::1.2.3.4]', { ...proxies, NO_PROXY: '3.4' }), undefined)
})
