// One run of wrangler, from its start to the end of all its processes.
//
// wrangler runs two workerd processes: one listens on our port and passes requests on to the other, which runs both
// Workers. When the second dies, wrangler puts another in its place. When the first dies, it starts that again too,
// but never tells it to let requests through: they hang for good. They also hang, rightly, while wrangler builds and
// after a build that failed. So no answer means nothing by itself: the first process is watched, and asked for an
// answer only after its death.
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

  /** Starts it, in a process group of its own, so that stopping reaches its children too. */
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
          // Workers of the same names in another checkout are not to be taken for ours.
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

  /** Resolves when wrangler has ended, by itself or stopped, and with it all of its group. */
  get ended() {
    return this.#ended
  }

  async #end() {
    const closed = once(this.#child, 'close')
    await once(this.#child, 'exit')
    this.kill() // whatever of its group is left
    await Promise.race([closed, sleep(DRAIN_TIMEOUT_MS, undefined, { ref: false })])
  }

  /** Ends it, first politely. */
  async stop(withinMs = STOP_TIMEOUT_MS) {
    signalGroup(this.#child.pid, 'SIGINT')
    const timer = setTimeout(() => this.kill(), withinMs)
    await this.#ended
    clearTimeout(timer)
  }

  /** Ends it at once. */
  kill() {
    signalGroup(this.#child.pid, 'SIGKILL')
  }

  /** Waits until wrangler has ended, or its port is dead, and says which. */
  lost() {
    return Promise.race([this.#ended.then(() => 'wrangler has ended'), this.#portLost()])
  }

  async #portLost() {
    for (let listener = this.#listener(); listener !== undefined; listener = this.#listener()) {
      while (isAlive(listener)) await sleep(WATCH_MS)
      if (!(await answers())) return 'workerd is gone'
    }
    return new Promise(() => {}) // There is nothing that could be watched.
  }

  /** The id of the process that listens on our port. */
  #listener() {
    const argument = `--socket-addr=entry=127.0.0.1:${PORT} `
    return processes().find(({ group, command }) => group === this.#child.pid && command.includes(argument))?.pid
  }
}

/** Reports whether anything is answered, be it 401. */
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

/** Waits until nobody listens on our port; fails if somebody keeps to it. */
export async function portFree() {
  for (const end = performance.now() + FREE_TIMEOUT_MS; ; await sleep(RETRY_MS)) {
    if (await canListen()) return
    if (performance.now() > end) throw new Error(`port ${PORT} is still taken`)
  }
}

/** Reports whether our port can be listened on. */
export function canListen() {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(Number(PORT), '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
