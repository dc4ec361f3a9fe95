// A running Postern for a file of tests, and what the tests do with it past the dashboard.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { makeState, startProvider, startWorkers, variables } from './workers.mjs'

const token = () => randomBytes(24).toString('base64url')

/** What one answer of the provider costs by the tests' catalog, in dollars. */
export const NICKEL = 0.05

/** Waits until a condition gives something, and gives that. What it throws meanwhile counts as nothing yet. */
export async function until(what, condition, withinMs = 15_000) {
  let last
  for (const end = performance.now() + withinMs; performance.now() < end; ) {
    try {
      const value = await condition()
      if (value) return value
      last = value
    } catch (error) {
      last = error
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`not within ${withinMs} ms: ${what}`, { cause: last })
}

/** Starts everything, and stops it after the file's tests. */
export async function startService() {
  const tokens = { owner: token(), viewer: token(), master: `one:${randomBytes(32).toString('base64')}` }
  const provider = await startProvider()
  const state = makeState()
  const workers = await startWorkers(state, variables(provider.url, tokens))
  const service = new Service({ tokens, provider, state, workers })
  after(() => service.stop())
  return service
}

class Service {
  #parts
  #cookies = new Map()

  constructor(parts) {
    this.#parts = parts
    this.url = parts.workers.url
    this.tokens = parts.tokens
    this.upstream = parts.provider.url
  }

  async stop() {
    await this.#parts.workers.stop()
    this.#parts.provider.stop()
    this.#parts.state.remove()
  }

  /** Starts the Workers anew on the same state and address, with another owner's token. */
  async rotateOwner() {
    const { workers, state, provider } = this.#parts
    await workers.stop()
    this.tokens.owner = token()
    this.#cookies.clear()
    this.#parts.workers = await startWorkers(state, variables(provider.url, this.tokens), workers.port)
  }

  /** What the Workers and wrangler wrote. */
  log() {
    return this.#parts.workers.output.join('')
  }

  fetch(path, init = {}) {
    return fetch(this.url + path, { redirect: 'manual', ...init })
  }

  /** A call of the admin API as it is: {status, headers, body}. */
  async call(method, path, body, headers = { authorization: `Bearer ${this.tokens.owner}` }) {
    const response = await this.fetch(`/api/admin/${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: body && JSON.stringify(body),
    })
    const text = await response.text()
    const isJSON = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: isJSON ? JSON.parse(text) : text }
  }

  /** A call that has to succeed; its answer. */
  async admin(method, path, body) {
    const { status, body: answer } = await this.call(method, path, body)
    assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(answer)}`)
    return answer
  }

  get(path) {
    return this.admin('GET', path)
  }

  project(fields = {}) {
    return this.admin('POST', 'projects', { name: 'Trial', plan: 'small', ...fields })
  }

  key(project, fields = {}) {
    return this.admin('POST', `projects/${project.id}/keys`, { name: 'Backend', kind: 'gateway', ...fields })
  }

  /** Asks the gateway something; {status, headers, body}. */
  async ask(key, fields = {}) {
    const body = { messages: [{ role: 'user', content: 'Hello!' }], ...fields }
    const response = await this.fetch('/api/ai/complete', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  /** What the provider was asked. */
  async seen() {
    return (await fetch(`${this.upstream}/__fake/seen`)).json()
  }

  /** A session's cookie, as a browser context takes it. */
  async cookie(role) {
    if (!this.#cookies.has(role)) this.#cookies.set(role, await this.#signIn(role))
    return this.#cookies.get(role)
  }

  async #signIn(role) {
    const { status, headers } = await this.call('POST', 'session', { token: this.tokens[role] }, {})
    assert.equal(status, 200, 'sign-in')
    const [name, value] = headers.getSetCookie()[0].split(';')[0].split(/=(.*)/s)
    const flags = { httpOnly: true, secure: true, sameSite: 'Strict' }
    return { name, value, domain: '127.0.0.1', path: '/api/admin', ...flags }
  }
}
