// Correctness checks during a run: the requests that reached the upstream, and the gateway's usage.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CONNECTIONS } from './load.mjs'
import { BENCH } from './process.mjs'

// The maximum number of requests that wrk abandons at the end of this round and of the previous one. Requests of the
// previous round may reach the upstream late.
const ABANDONED = 2 * CONNECTIONS
const USAGE_TIMEOUT_MS = 15_000
const POLL_MS = 1000

// The body that load.lua sends in mode "same", byte for byte, because the cache distinguishes different JSON
// spellings of a text.
const lua = readFileSync(join(BENCH, 'load.lua'), 'utf8')
const pieces = [...lua.matchAll(/\[\[(.*?)\]\]/g)].map(([, text]) => text)
const SAME = `{"messages":[{"role":"user","content":"${pieces.join('')}0."}],"quality":"balanced"}`

/** Counts the requests that the gateway served, by project, and checks the counts. */
export class Tally {
  served = new Map()

  constructor(upstreamURL, url) {
    this.upstreamURL = upstreamURL
    this.url = url
  }

  project(id) {
    if (!this.served.has(id)) this.served.set(id, { misses: 0, hits: 0, rounds: 0 })
    return this.served.get(id)
  }

  async upstreamCount() {
    return Number(await (await fetch(`${this.upstreamURL}/count`)).text())
  }

  /** Runs a round and checks the number of requests that reached the upstream. */
  async check({ name, project, mode, socket }, run) {
    const before = await this.upstreamCount()
    const result = await run()
    const seen = (await this.upstreamCount()) - before
    const [least, most] = mode === 'unique' ? [result.requests, result.requests + ABANDONED] : [0, 0]
    if (socket !== 'constant' && socket !== 'answer' && (seen < least || seen > most)) {
      throw new Error(`${name}: ${result.requests} requests, but ${seen} reached the upstream`)
    }
    if (project === undefined) return result
    const served = this.project(project.projectId)
    served[mode === 'unique' ? 'misses' : 'hits'] += result.requests
    served.rounds++
    return result
  }

  /** Sends the prompt of mode "same", and returns the response and its cache state. */
  async ask(project) {
    const response = await fetch(`${this.url}/api/ai/complete`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': project.keys[0] },
      body: SAME,
    })
    const body = await response.text()
    const state = response.headers.get('x-postern-cache')
    if (response.status !== 200) throw new Error(`${response.status} ${body}`)
    this.project(project.projectId)[state === 'hit' ? 'hits' : 'misses']++
    return { state, headers: [...response.headers], body }
  }

  /**
   * Makes sure that mode "same" gets hits. Returns the body of a hit, and its headers except those specific to one
   * request.
   */
  async prime(project) {
    await this.ask(project)
    const sample = await this.ask(project)
    if (sample.state !== 'hit') throw new Error(`a repeated request was a ${sample.state}`)
    const own = ['x-request-id', 'content-length', 'date', 'connection', 'transfer-encoding']
    return { ...sample, headers: sample.headers.filter(([name]) => !own.includes(name)) }
  }

  /** Checks that a project's usage counts every request once. Usage may include requests that wrk abandoned. */
  async checkUsage({ projectId, keys }) {
    const expected = this.project(projectId)
    const near = (got, of) => got >= of && got <= of + ABANDONED * expected.rounds
    const url = `${this.url}/api/usage?projectId=${projectId}&period=day`
    for (const end = performance.now() + USAGE_TIMEOUT_MS; ; await sleep(POLL_MS)) {
      const { cache } = await (await fetch(url, { headers: { 'x-api-key': keys[0] } })).json()
      if (near(cache.misses, expected.misses) && near(cache.hits, expected.hits)) return
      if (performance.now() > end) {
        throw new Error(`usage: ${JSON.stringify(expected)}, but the report says ${JSON.stringify(cache)}`)
      }
    }
  }
}
