// A running Postern for one test file, with helpers that bypass the dashboard.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { makeState, startProvider, startWorkers, variables } from './workers.mjs'

const token = () => randomBytes(24).toString('base64url')

/** The cost of one request to the model nickel, in dollars. */
export const NICKEL = 0.05

const DAY_MS = 86_400_000
const FILE_MS = 480_000 // longer than the tests of one file take on a busy machine

/** Polls a condition until it returns a truthy value, and returns that value. An exception counts as falsy. */
export async function until(what, condition, timeoutMs = 45_000) {
  let last
  for (const end = performance.now() + timeoutMs; performance.now() < end; ) {
    try {
      const value = await condition()
      if (value) return value
      last = value
    } catch (error) {
      last = error
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`timeout after ${timeoutMs} ms: ${what}`, { cause: last })
}

/**
 * Starts the fake provider and both Workers, and stops them after the file's tests. It does not start just before
 * midnight UTC, because the figures of "today", which many tests compare, would start again during the file's tests.
 */
export async function startService() {
  const left = DAY_MS - (Date.now() % DAY_MS)
  if (left < FILE_MS) await new Promise((resolve) => setTimeout(resolve, left))
  const service = await launchService(variables)
  after(() => service.stop())
  return service
}

/**
 * Starts the fake provider and both Workers.
 * @param {(upstream: string, tokens: object) => {gateway: object, control: object}} variables of the Workers
 * @param {object} [options] of startWorkers
 */
export async function launchService(variables, options) {
  const tokens = { owner: token(), viewer: token(), master: `one:${randomBytes(32).toString('base64')}` }
  const provider = await startProvider()
  const state = makeState()
  const workers = await startWorkers(state, variables(provider.url, tokens), options)
  return new Service({ tokens, provider, state, workers })
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

  /** Restarts the Workers with the same state and URL, and a new owner token. */
  async rotateOwner() {
    const { workers, state, provider } = this.#parts
    await workers.stop()
    this.tokens.owner = token()
    this.#cookies.clear()
    this.#parts.workers = await startWorkers(state, variables(provider.url, this.tokens), { port: workers.port })
  }

  /** The output of the Workers and wrangler. */
  log() {
    return this.#parts.workers.output.join('')
  }

  fetch(path, init = {}) {
    return fetch(this.url + path, { redirect: 'manual', ...init })
  }

  /** Calls the admin API. Returns {status, headers, body}. */
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

  /** Calls the admin API as the owner and asserts success. Returns the response's body. */
  async admin(method, path, body) {
    const response = await this.call(method, path, body)
    assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`)
    return response.body
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

  /** Sends a completion request to the gateway. Returns {status, headers, body}. */
  async complete(key, fields = {}) {
    const body = { messages: [{ role: 'user', content: 'Hello!' }], ...fields }
    const response = await this.fetch('/api/ai/complete', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  /** The requests that the fake provider received. */
  async seen() {
    return (await fetch(`${this.upstream}/__fake/seen`)).json()
  }

  /** A session cookie in the format of a browser context. */
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
