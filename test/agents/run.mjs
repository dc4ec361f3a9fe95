// Runs an agent in an empty home and an empty folder, turn by turn, and returns the output that a person would have
// seen.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { agents } from './agents.mjs'

/** A turn that takes longer has failed. Even on a slow machine, tests stay far below this. */
const TURN_TIMEOUT_MS = 120_000
// Nothing listens here, so anything that an agent sends to another host fails.
const NOWHERE = 'http://127.0.0.1:9'

/** The image in the agent's folder, dot.png, in base64. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** An agent in its own folder. Its setup has base, key and model. */
export class Agent {
  #root = mkdtempSync(join(tmpdir(), 'postern-agent-'))
  #turns = 0

  constructor(name, { root, ...setup }) {
    this.row = agents[name]
    if (root !== undefined) {
      rmSync(this.#root, { recursive: true })
      this.#root = root
    }
    this.setup = { ...setup, home: join(this.#root, 'home'), work: join(this.#root, 'work') }
    this.reset()
  }

  get root() {
    return this.#root
  }

  /** Empties both folders and writes the agent's settings. */
  reset() {
    const { home, work } = this.setup
    for (const folder of [home, work]) {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true })
    }
    writeFileSync(join(work, 'dot.png'), Buffer.from(PNG, 'base64'))
    this.#turns = 0
    this.variables = {
      PATH: process.env.PATH,
      HOME: home,
      LANG: 'C.UTF-8',
      POSTERN_KEY: this.setup.key,
      ...{ HTTPS_PROXY: NOWHERE, HTTP_PROXY: NOWHERE, NO_PROXY: '127.0.0.1,localhost' },
      ...this.row.configure(this.setup),
    }
  }

  remove() {
    rmSync(this.#root, { recursive: true, force: true })
  }

  /**
   * Runs a turn of the session. Returns { text, error, usage, code, ms, readAt, events, stderr }. readAt is the time
   * at which the person could read the error. If there was no error, it is the end of the turn.
   */
  async turn(prompt, { image } = {}) {
    const first = this.#turns++ === 0
    const { work, model } = this.setup
    const [file, ...args] = this.row.command()
    const words = this.row.args({ prompt, first, model, image: image && join(work, 'dot.png') })
    const started = performance.now()
    const child = spawn(file, [...args, ...words], {
      cwd: work,
      env: this.variables,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), TURN_TIMEOUT_MS)
    const events = []
    let errorAt
    let [line, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (piece) => {
      const lines = (line + piece).split('\n')
      line = lines.pop()
      events.push(...lines.map(parse).filter((event) => event !== undefined))
      if (this.row.read(events).error !== undefined) errorAt ??= performance.now()
    })
    child.stderr.setEncoding('utf8').on('data', (piece) => {
      stderr += piece
    })
    const [code] = await once(child, 'close')
    clearTimeout(timer)
    const readAt = errorAt ?? performance.now()
    return { ...this.row.read(events), code, ms: Math.round(performance.now() - started), readAt, events, stderr }
  }

  /** The files that the agent left in its folder, keyed by path. */
  files() {
    const { work } = this.setup
    const entries = readdirSync(work, { recursive: true, withFileTypes: true })
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    return Object.fromEntries(paths.sort().map((path) => [relative(work, path), readFileSync(path, 'base64')]))
  }
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
