// Runs both Workers with `wrangler dev`, or `postern serve` with TEST_TARGET=serve, with their own state, in front of
// the fake provider.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort, onServe, startServe } from '../serve.mjs'

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const BUILD = join(ROOT, 'build/browser')
const START_TIMEOUT_MS = 90_000
const START_TRIES = 3
const STOP_TIMEOUT_MS = 5_000

const dated = { source: 'made up for tests', date: '2026-11-21' }
// The fake provider reports 100 input and 50 output tokens for every request: 5 cents with nickel, 10 with dime.
const SMALL = {
  name: 'small',
  perSecond: 50,
  perDay: 10_000,
  developmentPerSecond: 50,
  developmentPerDay: 10_000,
  concurrent: 20,
  budget: '5',
}
const CATALOG = {
  plans: [SMALL, { ...SMALL, name: 'guarded', governor: true }],
  models: [
    { name: 'nickel', provider: 'openai', input: '200', output: '600', ...dated },
    { name: 'dime', provider: 'openai', input: '400', output: '1200', ...dated },
    { name: 'groat', provider: 'openai', input: '200', cached: '50', output: '600', ...dated },
    {
      name: 'farthing',
      provider: 'anthropic',
      input: '200',
      cached: '20',
      write: '250',
      write1h: '400',
      output: '600',
      ...dated,
    },
  ],
  tiers: [
    { name: 'cheap', targets: [{ model: 'nickel' }] },
    { name: 'balanced', targets: [{ model: 'nickel', weight: 1 }, { model: 'dime' }] },
    { name: 'frontier', targets: [{ model: 'dime' }] },
  ],
}

/** Starts the fake provider. Returns its URL and a function that stops it. */
export async function startProvider() {
  execFileSync('go', ['build', '-o', 'build/fakeprovider', './test/fakeprovider/serve'], { cwd: ROOT })
  const child = spawn('build/fakeprovider', ['-port', '0'], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    return { url: JSON.parse(line).url, stop: () => child.kill() }
  }
  throw new Error('the fake provider exited before it was ready')
}

/** The modules that wrangler bundles. */
const ENTRIES = { gateway: 'worker/gateway/src/index.ts', control: 'worker/control/entry.mjs' }

/** The variables of both Workers. */
export function variables(upstream, tokens) {
  const both = { POSTERN_CATALOG: JSON.stringify(CATALOG), POSTERN_MASTER_KEYS: tokens.master }
  return {
    gateway: {
      ...both,
      OPENAI_BASE_URL: `${upstream}/v1`,
      OPENAI_API_KEY: 'sk-upstream',
      ANTHROPIC_BASE_URL: `${upstream}/v1`,
      ANTHROPIC_API_KEY: 'sk-upstream',
    },
    control: {
      ...both,
      POSTERN_ADMIN_TOKEN: tokens.owner,
      POSTERN_VIEWER_TOKEN: tokens.viewer,
      POSTERN_PRIVATE_WEBHOOKS: 'on', // the tests' webhook receiver is on this machine
    },
  }
}

/** Writes a copy of a Worker's configuration that runs the existing build. Returns its path. */
function writeConfig(folder, file, main, vars) {
  const lines = Object.entries(vars).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
  const text = readFileSync(join(ROOT, file), 'utf8')
    .replace(/^\[build\]\n(.+\n)*/m, '')
    .replace(/^main = .*$/m, `main = ${JSON.stringify(join(ROOT, main))}`)
    .replace(/^directory = "(.*)"$/m, (_, path) => `directory = ${JSON.stringify(join(ROOT, dirname(file), path))}`)
  const path = join(folder, `${file.replaceAll('/', '-')}`)
  writeFileSync(path, `${text}\n[vars]\n${lines.join('')}`)
  return path
}

// "exit" handlers clean up, and they do not run if a signal ends the process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

/** Creates a folder for the Workers' state, which survives restarts of the Workers. */
export function makeState() {
  mkdirSync(BUILD, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'postern-browser-'))
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  process.on('exit', remove)
  return { folder, remove }
}

/**
 * Starts both Workers with a state folder. Returns their URL and port, their output, and a function that stops them.
 */
export async function startWorkers(state, vars, { port, entries = ENTRIES } = {}) {
  if (onServe) return startServe(join(state.folder, 'data'), { ...vars.gateway, ...vars.control }, port)
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryToStart(state, vars, entries, port ?? (await freePort()))
    } catch (error) {
      // wrangler also picks free ports on its own, and another process can take one first.
      if (attempt >= START_TRIES || !error.message.includes('Address already in use')) throw error
    }
  }
}

async function tryToStart(state, vars, entries, port) {
  const folder = mkdtempSync(join(BUILD, 'config-'))
  const removeConfigs = () => rmSync(folder, { recursive: true, force: true })
  process.on('exit', removeConfigs)
  const configs = [
    writeConfig(folder, 'wrangler.toml', entries.gateway, vars.gateway),
    writeConfig(folder, 'worker/control/wrangler.toml', entries.control, vars.control),
  ]
  const wrangler = run(port, configs, state.folder)
  const stop = async () => {
    await end(wrangler)
    removeConfigs()
  }
  try {
    const url = `http://127.0.0.1:${port}`
    await ready(wrangler, url)
    return { url, port, stop, output: wrangler.output }
  } catch (error) {
    await stop()
    throw error
  }
}

function run(port, configs, stateFolder) {
  const args = ['--port', String(port), '--ip', '127.0.0.1', '--persist-to', join(stateFolder, 'state')]
  const child = spawn(
    process.execPath,
    [join(ROOT, 'node_modules/wrangler/bin/wrangler.js'), 'dev', ...configs.flatMap((path) => ['-c', path]), ...args],
    {
      cwd: stateFolder,
      detached: true, // a separate process group, so that signals reach wrangler's children too
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        WRANGLER_SEND_METRICS: 'false',
        CLOUDFLARE_CF_FETCH_ENABLED: 'false',
        WRANGLER_REGISTRY_PATH: join(stateFolder, 'registry'), // other `wrangler dev` processes must not bind to these Workers
        WRANGLER_LOG_PATH: join(stateFolder, 'logs'),
      },
    },
  )
  process.on('exit', () => signalGroup(child, 'SIGKILL')) // needed if the test file fails before its tests run
  const output = []
  child.stdout.on('data', (chunk) => output.push(String(chunk)))
  child.stderr.on('data', (chunk) => output.push(String(chunk)))
  return Object.assign(child, { output })
}

/** Waits until both Workers respond. The gateway is ready shortly before the control Worker. */
async function ready(wrangler, url) {
  const responds = async () => {
    const response = await fetch(`${url}/api/admin/session`)
    await response.body?.cancel()
    return response.status === 401
  }
  for (const deadline = Date.now() + START_TIMEOUT_MS; Date.now() < deadline; ) {
    if (wrangler.exitCode !== null) break
    if (wrangler.output.join('').includes(`Ready on ${url}`) && (await responds().catch(() => false))) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`wrangler is not ready:\n${wrangler.output.join('').slice(-4000)}`)
}

async function end(wrangler) {
  const exited = wrangler.exitCode === null ? once(wrangler, 'exit') : undefined
  signalGroup(wrangler, 'SIGINT')
  const timer = setTimeout(signalGroup, STOP_TIMEOUT_MS, wrangler, 'SIGKILL')
  await exited
  clearTimeout(timer)
  signalGroup(wrangler, 'SIGKILL') // ends the rest of the group
}

function signalGroup(leader, signal) {
  try {
    process.kill(-leader.pid, signal)
  } catch {
    // The entire group has ended.
  }
}
