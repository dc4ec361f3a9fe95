// Runs cases of testdata/clients with a build of the client. Because other runtimes also run it, it uses nothing
// specific to Node except node:fs and process.env.
import { deepStrictEqual } from 'node:assert'
import { readdirSync, readFileSync } from 'node:fs'
import { differences } from './compare.mjs'

const FOLDER = new URL('../../../testdata/clients/', import.meta.url)
const KEY = 'sk_test_tableOfBehaviors0123456789'
const HOOKS = Symbol.for('@postern-ai/client hooks')
const CLOSE_TIMEOUT_MS = 30_000

/** All cases of this language. */
export function allCases() {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
  const cases = files.flatMap((name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')))
  return cases.filter(({ not = [] }) => !not.includes('ts'))
}

let lastId = 0

/** Runs a case and describes its failures, one string each. */
export async function failuresOf(given, { Postern, server }) {
  const run = new CaseRun(given, { Postern, server })
  return run.failures()
}

class CaseRun {
  constructor(given, { Postern, server }) {
    const id = `ts${++lastId}`
    this.url = `${server}/c/${id}`
    this.records = `${server}/__cases/${id}`
    this.server = given.server // may contain {url}, which the server replaces
    this.case = replaced(given, this.url)
    this.Postern = Postern
    this.pauses = []
    this.logs = []
    this.hooks = []
    this.errors = []
    this.duringPause = () => {}
  }

  async failures() {
    await fetch(this.records, { method: 'PUT', body: JSON.stringify(this.server ?? []) })
    setVariables(this.case.env ?? {}) // the variables last until the next await, because other cases run concurrently; the constructor comes before that
    const { expect } = this.case
    const results = []
    try {
      const client = this.#client()
      if (expect.construct) return ['the constructor did not fail']
      for (const call of this.case.calls) results.push(await this.#result(client, call))
    } catch (error) {
      if (!expect.construct) throw error
      this.errors.push(error)
      return [...differences(expect.construct.error, fieldsOf(error), 'error'), ...this.#secrets([])]
    }
    const requests = await this.#requests()
    return [
      ...differences(expect.results, results, 'results'),
      ...this.#onlyListed(results),
      ...requestFailures(expect, requests, this.#key()),
      ...pauseFailures(expect.pauses ?? [], this.pauses),
      ...(expect.logs ? differences(expect.logs, this.logs, 'logs') : []),
      ...(expect.hooks ? differences(expect.hooks, this.hooks, 'hooks') : []),
      ...this.#secrets(requests),
    ]
  }

  /** The key of all requests; undefined if a function returns the keys, in which case the case lists them. */
  #key() {
    const { client = {}, env = {} } = this.case
    if (client.apiKey?.function) return undefined
    return (client.apiKey ?? (client.apiKey === null ? env.POSTERN_API_KEY : KEY)).trim()
  }

  #client() {
    const { hooks, ...options } = { apiKey: KEY, baseURL: this.url, ...this.case.client }
    for (const name of Object.keys(options)) if (options[name] === null) delete options[name]
    if (options.apiKey?.function) options.apiKey = keyFunction(options.apiKey)
    if (hooks) Object.assign(options, recordingHooks(hooks, this.hooks))
    const sleep = async (ms) => {
      this.pauses.push(ms)
      this.duringPause()
    }
    const logger = (record) => this.logs.push(record)
    return new this.Postern({ ...options, logging: { ...options.logging, logger }, [HOOKS]: { sleep } })
  }

  /** Waits for the connections that the client should have closed, and returns the server's records. */
  async #requests() {
    const wanted = this.case.expect.requests.map(({ closed }) => closed === true)
    for (const end = Date.now() + CLOSE_TIMEOUT_MS; ; ) {
      const requests = await (await fetch(this.records)).json()
      if (wanted.every((closed, i) => !closed || requests[i]?.closed) || Date.now() > end) return requests
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  /** Makes a call and returns its result in the table's format. */
  async #result(client, { method, args, options = {}, abort, read, collect }) {
    const result = {}
    try {
      const controller = new AbortController()
      const [resource, name] = method.includes('.') ? method.split('.') : [undefined, method]
      if (abort === 'before') controller.abort()
      if (abort === 'request') this.#onFirstRequest(() => controller.abort())
      if (abort === 'pause') this.duringPause = () => controller.abort()
      const signal = abort === undefined ? {} : { signal: controller.signal }
      const given = (resource ? client[resource] : client)[name](...complete(method, args.map(withSchema)), {
        ...options,
        ...signal,
      })
      await collected(result, given, { collect, read, method, abort: () => controller.abort(), after: abort })
    } catch (error) {
      this.errors.push(error)
      result.error = fieldsOf(error)
    }
    return result
  }

  #onFirstRequest(run) {
    const poll = async () => {
      const requests = await (await fetch(this.records)).json()
      if (requests.length > 0) run()
      else setTimeout(poll, 5)
    }
    poll().catch((error) => this.errors.push(error))
  }

  /** A successful result must not match an expected failure, or the other way around. */
  #onlyListed(results) {
    return results.flatMap((result, i) => {
      const wanted = this.case.expect.results[i] ?? {}
      return 'error' in result && !('error' in wanted) ? [`results[${i}]: ${JSON.stringify(result.error)}`] : []
    })
  }

  /** Strings that must not appear in logs, errors and URLs: the key, and the strings that the case lists. */
  #secrets(requests) {
    const said = [...this.logs, ...this.errors.flatMap((error) => [error, { message: error.message }])]
    const urls = requests.map(({ path, query }) => ({ path, query }))
    const { apiKey = [] } = this.case.client ?? {}
    const own = [apiKey?.function ?? apiKey ?? []].flat().filter((key) => key.trim() !== '')
    const secrets = [KEY, KEY.slice('sk_test_'.length), ...own]
    return [
      ...absent(secrets, JSON.stringify([...said, ...urls])),
      ...absent(this.case.expect.absent ?? [], JSON.stringify(said)),
    ]
  }
}

function absent(texts, all) {
  return texts.filter((text) => all.includes(JSON.stringify(text).slice(1, -1))).map((text) => `${text} is visible`)
}

/** Replaces {url} in all strings. */
function replaced(value, url) {
  return JSON.parse(JSON.stringify(value).replaceAll('{url}', url))
}

function setVariables(variables) {
  for (const name of Object.keys(process.env)) if (name.startsWith('POSTERN_')) delete process.env[name]
  Object.assign(process.env, variables)
}

/** A function that returns the keys in turn, then keeps returning the last one. */
function keyFunction({ function: keys, fails }) {
  let calls = 0
  return async () => {
    if (fails) throw new Error(fails)
    return keys[Math.min(calls++, keys.length - 1)]
  }
}

/** Hooks that record what they receive, set headers, and fail. */
function recordingHooks({ set = {}, failRequest, failResponse }, records) {
  const onRequest = async ({ headers, ...rest }) => {
    records.push({ hook: 'request', ...rest, headers: Object.fromEntries(headers) })
    for (const [name, value] of Object.entries(set)) headers.set(name, value)
    if (failRequest) throw new Error(failRequest)
  }
  const onResponse = ({ headers, ...rest }) => {
    records.push({ hook: 'response', ...rest, headers: Object.fromEntries(headers) })
    if (failResponse) throw new Error(failResponse)
  }
  return { onRequest, onResponse }
}

/** For methods with optional parameters, the options come after the parameters. */
function complete(method, args) {
  if (method === 'post' && args.length === 1) return [...args, undefined]
  const optional = /^(usage\.get|violations\.list|models\.list|compliance\.export)$/.test(method)
  return optional && args.length === 0 ? [{}] : args
}

function withSchema(arg) {
  return arg?.schema === 'city' ? { ...arg, schema: citySchema } : arg
}

const citySchema = {
  '~standard': {
    version: 1,
    vendor: 'table',
    jsonSchema: {
      input: () => ({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
    },
    validate(value) {
      if (typeof value?.city === 'string' && Object.keys(value).length === 1) return { value: { city: value.city } }
      return { issues: [{ message: 'city must be a string', path: ['city'] }] }
    },
  },
}

/** Converts a call's result to the table's format. */
async function collected(result, given, { collect, read, method, abort, after }) {
  const how = collect ?? (method === 'ai.chat' ? 'events' : /\.(list|export)$/.test(method) ? 'items' : 'value')
  if (how === 'events' || how === 'items') await iterated(result, how, given, { read, abort, after })
  else if (how === 'lines') await iterated(result, 'items', given.lines(), { read, abort, after })
  else if (how === 'response') {
    const { data, response, meta } = await given.withResponse()
    const headers = Object.fromEntries(response.headers)
    result.value = { data, response: { ...response, headers }, meta }
  } else if (how === 'eventsThenData') {
    const stream = await given
    for await (const _ of stream);
    result.value = await stream.data()
  } else if (how === 'value' || how === 'page') result.value = await given
  else result.value = await (await given)[how]()
}

async function iterated(result, name, given, { read, abort, after }) {
  result[name] = []
  if (read === 0) return
  for await (const item of name === 'events' ? await given : given) {
    result[name].push(item)
    if (result[name].length === after) abort()
    if (result[name].length === read) break
  }
}

function fieldsOf(error) {
  const fields = Object.fromEntries(Object.entries(error))
  if (error.headers) fields.headers = Object.fromEntries(error.headers)
  return { class: error.name, message: error.message, ...fields }
}

function requestFailures(expect, requests, key) {
  const { requests: wanted, sameHeader = [], differentHeader = [] } = expect
  const failures = wanted.length === requests.length ? [] : [`requests: want ${wanted.length}, got ${requests.length}`]
  for (const [i, request] of requests.entries()) {
    const path = `requests[${i}]`
    failures.push(
      ...differences(COMMON, request, path),
      ...(key === undefined ? [] : differences(key, request.headers['x-api-key'], `${path} key`)),
      ...equal(wanted[i] ?? {}, request, path),
    )
  }
  const values = (name) => new Set(requests.map(({ headers }) => headers[name]))
  for (const name of sameHeader) if (values(name).size !== 1) failures.push(`${name} differs: ${[...values(name)]}`)
  for (const name of differentHeader) if (values(name).size !== requests.length) failures.push(`${name} is repeated`)
  return failures
}

/** The parts that every request has. */
const COMMON = {
  headers: { 'user-agent': { match: '^postern-(ts|python|go)/\\d+\\.\\d+\\.\\d+ \\(.+\\)$' }, authorization: null },
}

function equal({ headers = {}, query, body, ...rest }, request, path) {
  const failures = differences({ headers, ...rest }, request, path)
  for (const [name, value] of Object.entries({ query, body })) {
    if (value === undefined) continue
    try {
      deepStrictEqual(request[name], value)
    } catch {
      failures.push(`${path}.${name}: want ${JSON.stringify(value)}, got ${JSON.stringify(request[name])}`)
    }
  }
  return failures
}

function pauseFailures(wanted, pauses) {
  const fits = wanted.length === pauses.length && wanted.every(([min, max], i) => pauses[i] >= min && pauses[i] <= max)
  return fits ? [] : [`pauses: want ${JSON.stringify(wanted)}, got ${JSON.stringify(pauses)}`]
}
