// Runs `postern serve` on a data directory, with SQLite. TEST_TARGET=serve makes the SDK and browser tests use it
// instead of the Workers.
import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const BINARY = join(ROOT, 'build/test/postern')
const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 10_000

/** Whether the tests run against `postern serve`. */
export const onServe = process.env.TEST_TARGET === 'serve'
if (!['serve', 'workers', undefined].includes(process.env.TEST_TARGET)) {
  throw new Error(`TEST_TARGET is ${process.env.TEST_TARGET}, want serve or workers`)
}

/** An unused port. Outgoing connections use higher ports, so a restart can have the same one. */
export async function freePort() {
  for (;;) {
    const server = createServer().listen(randomInt(10_000, 30_000), '127.0.0.1')
    try {
      await once(server, 'listening')
      return server.address().port
    } catch (error) {
      if (error.code !== 'EADDRINUSE') throw error
    } finally {
      server.close()
    }
  }
}

/**
 * Builds postern and starts a server. Returns its URL and port, its output, and a function that stops it.
 * @param {string} data the data directory, which survives a restart
 * @param {object} variables of the deployment
 * @param {number} [port] of an earlier server on the same data
 */
export async function startServe(data, variables, port) {
  execFileSync('go', ['build', '-o', BINARY, './cmd/postern'], { cwd: ROOT })
  port ??= await freePort()
  const child = spawn(BINARY, ['serve'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...variables,
      PATH: process.env.PATH,
      POSTERN_DATA: data,
      POSTERN_LISTEN: `127.0.0.1:${port}`,
      POSTERN_OPS_LISTEN: 'off',
    },
  })
  process.on('exit', () => child.kill('SIGKILL')) // even if the test file fails before its tests run
  const output = []
  child.stdout.on('data', (chunk) => output.push(String(chunk)))
  child.stderr.on('data', (chunk) => output.push(String(chunk)))
  const stop = () => end(child)
  const url = `http://127.0.0.1:${port}`
  try {
    await ready(child, url)
    return { url, port, stop, output }
  } catch (error) {
    await stop()
    throw new Error(`${error.message}:\n${output.join('').slice(-4000)}`)
  }
}

async function ready(child, url) {
  for (const deadline = Date.now() + START_TIMEOUT_MS; Date.now() < deadline; ) {
    if (child.exitCode !== null) break
    const response = await fetch(url).catch(() => undefined)
    await response?.body?.cancel()
    if (response?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('postern serve is not ready')
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill()
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await exited
  clearTimeout(timer)
}
