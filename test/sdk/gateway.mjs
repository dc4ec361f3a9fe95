// Runs the gateway in workerd, or `postern serve` with TEST_TARGET=serve, in front of a fake provider that speaks
// every API format. Also creates keys for tests.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onServe, startServe } from '../serve.mjs'

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const ADMIN_TOKEN = 'sdk-tests-admin-token'

async function line(child, read) {
  for await (const text of createInterface({ input: child.stdout })) {
    const value = read(text)
    if (value !== undefined) return value
  }
  throw new Error(`${child.spawnfile} ended before it was ready`)
}

function start(command, args) {
  return spawn(command, args, { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
}

async function post(url, body, headers = {}, method = 'POST') {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  const text = await response.text()
  return text === '' ? undefined : JSON.parse(text)
}

/** Starts the provider and the gateway, and stops both after the file's tests. change edits the catalog's overlay. */
export async function startGateway(change) {
  const { gateway, stop } = await runGateway(change)
  after(stop)
  return gateway
}

/** Starts the provider and the gateway. Returns the gateway and a function that stops both. */
export async function runGateway(change = () => {}) {
  const overlay = JSON.parse(readFileSync(join(ROOT, 'testdata/conformance/overlay.json'), 'utf8'))
  change(overlay)
  execFileSync('go', ['build', '-o', 'build/fakeprovider', './test/fakeprovider/serve'], { cwd: ROOT })
  const provider = start('build/fakeprovider', ['-port', '0'])
  const upstream = await line(provider, (text) => JSON.parse(text).url)
  const env = {
    OPENAI_BASE_URL: `${upstream}/v1`,
    OPENAI_API_KEY: 'sk-upstream',
    ANTHROPIC_BASE_URL: `${upstream}/v1`,
    ANTHROPIC_API_KEY: 'sk-ant-upstream',
    GEMINI_BASE_URL: `${upstream}/v1beta`,
    GEMINI_API_KEY: 'gemini-upstream',
    COHERE_BASE_URL: `${upstream}/v2`,
    COHERE_API_KEY: 'cohere-upstream',
    POSTERN_ADMIN_TOKEN: ADMIN_TOKEN,
    POSTERN_CATALOG: JSON.stringify(overlay),
  }
  const { url, stop } = await (onServe ? startOnServe : startInWorkerd)(env)
  return { gateway: new Gateway(url, upstream), stop: () => Promise.all([stop(), end(provider)]) }
}

async function end(child) {
  child.stdin.end()
  child.kill()
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

async function startInWorkerd(env) {
  const worker = start('node', [
    'worker/gateway/test/serve.mjs',
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
  ])
  const url = await line(worker, (text) => (text.startsWith('ready ') ? text.slice('ready '.length) : undefined))
  await post(`${url}/__test/reset`, { env: {}, nowMs: Date.now() })
  return { url, stop: () => end(worker) }
}

async function startOnServe(env) {
  const data = mkdtempSync(join(tmpdir(), 'postern-sdk-'))
  const server = await startServe(data, env)
  const stop = async () => {
    await server.stop()
    rmSync(data, { recursive: true, force: true })
  }
  return { url: server.url, stop }
}

class Gateway {
  constructor(url, upstream) {
    this.url = url
    this.upstream = upstream
    this.ticking = Promise.resolve()
  }

  #admin(path, body) {
    return post(`${this.url}/api/admin/${path}`, body, { authorization: `Bearer ${ADMIN_TOKEN}` })
  }

  project(fields = {}) {
    return this.#admin('projects', { name: 'SDK', plan: 'unlimited', ...fields })
  }

  /** Creates a key and returns its value. Production keys call the provider, development keys the built-in mock. */
  async key(project, fields = {}) {
    return (await this.createKey(project, fields)).value
  }

  createKey(project, fields = {}) {
    return this.#admin(`projects/${project.id}/keys`, { name: 'SDK', ...fields })
  }

  deactivate(project, key) {
    return this.#admin(`projects/${project.id}/keys/${key.id}/deactivate`, {})
  }

  /** Replaces a project's Governor settings. */
  govern(project, settings) {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    return post(`${this.url}/api/admin/projects/${project.id}/governor`, settings, headers, 'PUT')
  }

  /** Advances the Worker's virtual clock to real time. `postern serve` uses real time. Calls take turns. */
  tick() {
    if (onServe) return
    const tick = () => post(`${this.url}/__test/clock`, { nowMs: Date.now(), inFlight: true })
    this.ticking = this.ticking.then(tick)
    return this.ticking
  }

  /** Keeps the Worker's virtual clock in step with real time while run is running. */
  async whileTimePasses(run) {
    await this.tick()
    const timer = setInterval(() => this.tick(), 100)
    try {
      return await run()
    } finally {
      clearInterval(timer)
      await this.ticking
    }
  }

  /** Sets the provider's behavior for its next request. */
  next(behavior) {
    return post(`${this.upstream}/__fake/next`, behavior)
  }

  /** Starts a scripted session at the provider, which forgets earlier requests. */
  async script(rules) {
    await post(`${this.upstream}/__fake/reset`, {})
    await post(`${this.upstream}/__fake/script`, rules)
  }

  async seen() {
    return (await fetch(`${this.upstream}/__fake/seen`)).json()
  }

  /** Waits until the provider's request with this text has ended, and returns it. */
  ended(text) {
    return eventually(async () => {
      const found = (await this.seen()).find(({ body }) => body.includes(text))
      return found?.done && found
    })
  }

  /** The project's recent requests, once there are enough. */
  requests(project, count) {
    return eventually(async () => {
      const response = await fetch(`${this.url}/api/admin/projects/${project.id}/requests?limit=100`, {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      })
      const { requests } = await response.json()
      return requests.length >= count && requests
    })
  }

  async usage(project, key) {
    const response = await fetch(`${this.url}/api/usage?projectId=${project.id}`, { headers: { 'x-api-key': key } })
    return response.json()
  }
}

/** Waits until a condition is truthy, and returns its value. The limit is for a busy machine. */
export async function eventually(condition, withinMs = 45_000) {
  for (const end = performance.now() + withinMs; ; ) {
    const value = await condition()
    if (value) return value
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The JSON Schema of a function's parameters. */
export const weatherSchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

/** An image of eight bytes, in base64. */
export const picture = 'iVBORw0KGgo='

/** The provider's response to "count to N". */
export function counted(n) {
  return Array.from({ length: n }, (_, i) => i + 1).join(' ')
}
