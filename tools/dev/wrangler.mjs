// One run of wrangler, from its start until all its processes have exited.
//
// wrangler runs two workerd processes. The proxy listens on our port and forwards requests to the runtime, which runs
// both Workers. wrangler replaces a runtime that dies. It also restarts a proxy that dies, but never unpauses it, so
// requests hang forever. Requests also hang, correctly, during a build and after a failed one. A hanging request
// therefore proves nothing: watch the proxy process, and probe the port only after that process has died.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_URL, PORT, ROOT } from './files.mjs'
import { Output } from './output.mjs'
import { isAlive, processes, signalGroup } from './processes.mjs'

const STOP_TIMEOUT_MS = 5_000
const DRAIN_TIMEOUT_MS = 1_000
const FREE_TIMEOUT_MS = 5_000
const ANSWER_TIMEOUT_MS = 2_000
const WATCH_MS = 500
const RETRY_MS = 100

export class Wrangler {
  #child
  #output
  #ended

  /** Starts wrangler in its own process group, so that signals reach its children too. */
  constructor(envArguments) {
    const configs = ['-c', 'wrangler.toml', '-c', 'worker/control/wrangler.toml']
    this.#child = spawn(
      process.execPath,
      [
        'node_modules/wrangler/bin/wrangler.js',
        'dev',
        ...configs,
        '--port',
        PORT,
        '--ip',
        '127.0.0.1',
        ...envArguments,
      ],
      {
        cwd: ROOT,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          WRANGLER_SEND_METRICS: 'false',
          CLOUDFLARE_CF_FETCH_ENABLED: 'false',
          // Keeps Workers of the same name in other checkouts apart from ours.
          WRANGLER_REGISTRY_PATH: join(ROOT, '.wrangler/registry'),
        },
      },
    )
    this.#output = new Output([this.#child.stdout, this.#child.stderr], `Ready on ${BASE_URL}`)
    this.#ended = this.#end()
  }

  get output() {
    return this.#output
  }

  /** Resolves when wrangler and its entire process group have exited. */
  get ended() {
    return this.#ended
  }

  async #end() {
    const closed = once(this.#child, 'close')
    await once(this.#child, 'exit')
    this.kill() // the rest of its group
    await Promise.race([closed, sleep(DRAIN_TIMEOUT_MS, undefined, { ref: false })])
  }

  /** Stops it with SIGINT, then SIGKILL after withinMs. */
  async stop(withinMs = STOP_TIMEOUT_MS) {
    signalGroup(this.#child.pid, 'SIGINT')
    const timer = setTimeout(() => this.kill(), withinMs)
    await this.#ended
    clearTimeout(timer)
  }

  /** Stops it with SIGKILL. */
  kill() {
    signalGroup(this.#child.pid, 'SIGKILL')
  }

  /** Resolves with the reason when wrangler has exited or its port no longer responds. */
  lost() {
    return Promise.race([this.#ended.then(() => 'wrangler exited'), this.#portLost()])
  }

  async #portLost() {
    for (let listener = this.#listener(); listener !== undefined; listener = this.#listener()) {
      while (isAlive(listener)) await sleep(WATCH_MS)
      if (!(await answers())) return 'workerd exited'
    }
    return new Promise(() => {}) // no proxy process to watch
  }

  /** The process ID of the proxy, which listens on our port. */
  #listener() {
    const argument = `--socket-addr=entry=127.0.0.1:${PORT} `
    return processes().find(({ group, command }) => group === this.#child.pid && command.includes(argument))?.pid
  }
}

/** Reports whether the gateway responds, with any status. */
async function answers() {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
  while (!signal.aborted) {
    try {
      const response = await fetch(`${BASE_URL}/api/health`, { signal })
      await response.body?.cancel()
      return true
    } catch {
      await sleep(RETRY_MS)
    }
  }
  return false
}

/** Waits until our port is free. Throws after FREE_TIMEOUT_MS. */
export async function portFree() {
  for (const end = performance.now() + FREE_TIMEOUT_MS; ; await sleep(RETRY_MS)) {
    const error = await listenError()
    if (error === undefined) return
    if (performance.now() > end) throw error
  }
}

/** Tries to listen on our port. If it cannot, it returns an error that names the remedy. */
export function listenError() {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code }) => {
      const needsRoot = `port ${PORT} needs root; set POSTERN_PORT to 1024 or higher`
      const inUse = `port ${PORT} is in use; stop the process that listens on it, or set POSTERN_PORT`
      resolve(new Error(code === 'EACCES' ? needsRoot : inUse))
    })
    server.listen(Number(PORT), '127.0.0.1', () => server.close(() => resolve(undefined)))
  })
}
