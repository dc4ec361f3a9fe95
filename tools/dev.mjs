// Implements `make dev`: runs both Workers locally, with a demo project whose keys survive restarts.
//
// .dev/keys.json is {"baseUrl","projectId","gatewayKey","projectKey","adminToken"}, and .dev/gateway-key is the
// gateway key alone. Both files exist once all of these work, until the process stops. The Workers get their secrets
// through files that only this user can read.
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { demoKeys } from './dev/demo.mjs'
import { writeEnvironment } from './dev/environment.mjs'
import {
  BASE_URL,
  checkControlFile,
  checkPort,
  readSecrets,
  releaseLock,
  removeFiles,
  takeLock,
  writeKeys,
} from './dev/files.mjs'
import { welcome } from './dev/welcome.mjs'
import { listenError, portFree, Wrangler } from './dev/wrangler.mjs'

const RESTARTS = 3
const RESTARTS_WITHIN_MS = 600_000
const LOST_STOP_TIMEOUT_MS = 1_000 // short, because wrangler would wait for a workerd that has already exited

/** A run of `make dev`, which restarts wrangler when it fails. */
class Session {
  #secrets = { adminToken: randomBytes(32).toString('base64url'), ...readSecrets() }
  #restarts = []
  #stopping = false
  #wrangler

  /** Runs until stopped. Throws if the Workers do not start, or after too many restarts. */
  async run() {
    await this.#start(welcome)
    while (!this.#stopping) {
      const reason = await this.#wrangler.lost()
      if (!this.#stopping) await this.#restart(reason)
    }
    await this.#wrangler.ended
  }

  stop() {
    this.#stopping = true
    void this.#wrangler?.stop()
  }

  /** Kills wrangler without waiting. */
  kill() {
    this.#wrangler?.kill()
  }

  async #restart(reason) {
    removeFiles()
    const now = performance.now()
    this.#restarts = [...this.#restarts.filter((then) => now - then < RESTARTS_WITHIN_MS), now]
    if (this.#restarts.length > RESTARTS) throw new Error(`${reason} again after ${RESTARTS} restarts`)
    console.log(`dev: ${reason}; restarting (${this.#restarts.length} of ${RESTARTS}) …`)
    const before = this.#secrets
    await this.#wrangler.stop(LOST_STOP_TIMEOUT_MS)
    await portFree()
    await this.#start((secrets) =>
      isDeepStrictEqual(secrets, before) ? `dev: ready again on ${BASE_URL}, with the same keys\n` : welcome(secrets),
    )
  }

  /** Starts wrangler, loads or creates the keys, and prints message(secrets). */
  async #start(message) {
    if (this.#stopping) return
    const wrangler = new Wrangler(writeEnvironment(this.#secrets.adminToken))
    this.#wrangler = wrangler
    try {
      await Promise.race([wrangler.output.ready, failing(wrangler.ended)])
      const rejected = wrangler.output.misconfigured.then(misconfiguration(wrangler.output))
      this.#secrets = await Promise.race([demoKeys(this.#secrets), failing(wrangler.ended), rejected])
      if (this.#stopping) return
      writeKeys(this.#secrets)
      process.stdout.write(message(this.#secrets))
      wrangler.output.show()
    } catch (error) {
      if (this.#stopping) return
      wrangler.output.show({ all: true })
      await wrangler.stop()
      throw error
    }
  }
}

async function failing(ended) {
  await ended
  throw new Error('wrangler exited')
}

/** Returns a function that throws a problem of the configuration, after dropping the output that the problem caused. */
function misconfiguration(output) {
  return (problem) => {
    output.drop()
    throw new Error(`the configuration is invalid: ${problem}`)
  }
}

async function main() {
  checkPort()
  takeLock()
  process.on('exit', releaseLock)
  const error = await listenError()
  if (error !== undefined) throw error
  checkControlFile()
  removeFiles()
  const session = new Session()
  // Clean up processes and files after a failure too.
  process.on('exit', () => {
    session.kill()
    removeFiles()
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => session.stop())
  // The terminal or the other end of a pipe was closed.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => session.stop())
  console.log('Starting both Workers …')
  await session.run()
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(`dev: ${error.message}`)
    process.exit(1)
  },
)
