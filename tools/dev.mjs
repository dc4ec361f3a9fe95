// What `make dev` runs: both Workers on this machine, with a demo project and fresh keys.
//
// While it runs, .dev/keys.json is {"baseUrl","projectId","gatewayKey","projectKey","adminToken"}. Secrets
// go to the Workers through files that only this user can read, never through an argument list.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const PORT = process.env.POSTERN_PORT || '8787'
const BASE_URL = `http://127.0.0.1:${PORT}`
const STOP_TIMEOUT_MS = 5_000
const CONTROL_TIMEOUT_MS = 30_000
const POLL_MS = 250

const KEYS_FILE = join(ROOT, '.dev/keys.json')
// For the gateway, by --env-file. wrangler gives that to the first Worker only.
const GATEWAY_FILE = join(ROOT, '.dev/gateway.env')
// For the control Worker, which has only this place. The first line tells whose file it is.
const CONTROL_FILE = join(ROOT, 'worker/control/.dev.vars')
const CONTROL_MARK = '# Written by tools/dev.mjs at each start, removed when it stops.\n'
const MASTER_FILE = join(ROOT, '.dev/master-keys')
const USER_FILE = join(ROOT, '.dev.vars')

const DEMO = 'Demo'
const DEMO_KEYS = [
  { name: 'Demo gateway key', kind: 'gateway', environment: 'development' },
  { name: 'Demo project key', kind: 'project', environment: 'development' },
]

/** The variables of the shell that the gateway takes: its own, and those that the catalog's providers name. */
function gatewayVariables() {
  const { providers } = JSON.parse(readFileSync(join(ROOT, 'core/catalog/catalog.json'), 'utf8'))
  const names = providers.flatMap(({ baseUrlEnv, keyEnv, settings = {} }) => [
    baseUrlEnv,
    keyEnv,
    ...Object.values(settings).map(({ env }) => env),
  ])
  return present(['POSTERN_CATALOG', 'POSTERN_MAX_BODY_BYTES', 'POSTERN_CONTROL', ...names])
}

/** What the control Worker takes of them. */
const CONTROL_VARIABLES = [
  'POSTERN_CATALOG',
  'POSTERN_VIEWER_TOKEN',
  'POSTERN_PRIVATE_WEBHOOKS',
  'POSTERN_ACCESS_TEAM',
  'POSTERN_ACCESS_AUD',
  'POSTERN_ACCESS_OWNERS',
]

/** The key that projects' own provider keys are sealed with. It outlives a restart, as what it sealed does. */
function masterKeys() {
  if (process.env.POSTERN_MASTER_KEYS) return process.env.POSTERN_MASTER_KEYS
  if (!existsSync(MASTER_FILE)) writePrivate(MASTER_FILE, `dev:${randomBytes(32).toString('base64')}`)
  return readFileSync(MASTER_FILE, 'utf8')
}

function present(names) {
  return names.filter((name) => process.env[name]).map((name) => [name, process.env[name]])
}

/** An env file's text. wrangler expands $ in env files, but not in .dev.vars. */
function envText(variables, expanded) {
  return variables
    .map(([name, value]) => {
      const quote = ["'", '`'].find((q) => !value.includes(q))
      if (quote === undefined) throw new Error(`${name} has both ' and \` in it: set it in .dev.vars instead`)
      return `${name}=${quote}${expanded ? value.replaceAll('$', '\\$') : value}${quote}\n`
    })
    .join('')
}

/** Writes a file that only this user can read, whole or not at all. */
function writePrivate(path, text) {
  const temporary = `${path}.${process.pid}`
  rmSync(temporary, { force: true })
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  renameSync(temporary, path)
}

function removeFiles() {
  for (const path of [KEYS_FILE, GATEWAY_FILE, CONTROL_FILE]) rmSync(path, { force: true })
}

/** Writes what the Workers are to know and returns wrangler's arguments for it. */
function writeSecrets(adminToken) {
  if (existsSync(CONTROL_FILE) && !readFileSync(CONTROL_FILE, 'utf8').startsWith(CONTROL_MARK)) {
    throw new Error('worker/control/.dev.vars is in the way: this would overwrite it')
  }
  removeFiles()
  mkdirSync(join(ROOT, '.dev'), { recursive: true })
  const master = ['POSTERN_MASTER_KEYS', masterKeys()]
  const control = [['POSTERN_ADMIN_TOKEN', adminToken], master, ...present(CONTROL_VARIABLES)]
  writePrivate(CONTROL_FILE, CONTROL_MARK + envText(control, false))
  writePrivate(GATEWAY_FILE, envText([master, ...gatewayVariables()], true))
  // With any --env-file, wrangler does not look for .dev.vars itself. The shell wins over it.
  const files = existsSync(USER_FILE) ? [USER_FILE, GATEWAY_FILE] : [GATEWAY_FILE]
  return files.map((file) => `--env-file=${file}`)
}

/** Starts wrangler in a process group of its own, so that stopping reaches its children too. */
function startWrangler(envArguments) {
  const configs = ['-c', 'wrangler.toml', '-c', 'worker/control/wrangler.toml']
  return spawn(
    process.execPath,
    ['node_modules/wrangler/bin/wrangler.js', 'dev', ...configs, '--port', PORT, '--ip', '127.0.0.1', ...envArguments],
    {
      cwd: ROOT,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false' },
    },
  )
}

/**
 * Wrangler's output: held back until we have said where everything is, or shown all at once when it fails. Of its
 * start there is too much to find that in.
 */
class Output {
  #held = ''
  #shown = false
  #ready = Promise.withResolvers()

  constructor(wrangler) {
    for (const from of [wrangler.stdout, wrangler.stderr]) from.on('data', (chunk) => this.#take(chunk))
  }

  /** Resolves when the Workers answer. */
  get ready() {
    return this.#ready.promise
  }

  #take(chunk) {
    if (this.#shown) return process.stdout.write(chunk)
    this.#held += chunk
    if (this.#held.includes(`Ready on ${BASE_URL}`)) this.#ready.resolve()
  }

  /** Shows what comes from now on, and what has come if that matters. */
  show({ all = false } = {}) {
    this.#shown = true
    if (all) process.stderr.write(this.#held)
    this.#held = ''
  }
}

/** One call of the admin API; anything but success throws. */
async function admin(token, method, path, body) {
  const response = await fetch(`${BASE_URL}/api/admin/projects${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} /api/admin/projects${path}: ${response.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** The gateway is ready a little before the control Worker is. */
async function controlReady(token) {
  const end = Date.now() + CONTROL_TIMEOUT_MS
  for (;;) {
    try {
      return await admin(token, 'GET', '?limit=1')
    } catch (error) {
      if (Date.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }
}

/** The items of all pages of a list. */
async function all(token, path, field) {
  const items = []
  for (let after = ''; ; ) {
    const page = await admin(token, 'GET', `${path}?limit=100${after}`)
    items.push(...page[field])
    if (page.next === null) return items
    after = `&after=${page.next}`
  }
}

/** Finds or makes the demo project and gives it fresh keys; keys that somebody else made stay. */
async function seed(adminToken) {
  await controlReady(adminToken)
  const projects = await all(adminToken, '', 'projects')
  const project = projects.find(({ name }) => name === DEMO) ?? (await admin(adminToken, 'POST', '', { name: DEMO }))
  const path = `/${project.id}/keys`
  for (const { id, name } of await all(adminToken, path, 'keys')) {
    if (DEMO_KEYS.some((key) => key.name === name)) await admin(adminToken, 'DELETE', `${path}/${id}`)
  }
  const [gateway, compliance] = [
    await admin(adminToken, 'POST', path, DEMO_KEYS[0]),
    await admin(adminToken, 'POST', path, DEMO_KEYS[1]),
  ]
  return {
    baseUrl: BASE_URL,
    projectId: project.id,
    gatewayKey: gateway.value,
    projectKey: compliance.value,
    adminToken,
  }
}

function welcome({ baseUrl, projectId, gatewayKey, projectKey, adminToken }) {
  const json = `-H 'Content-Type: application/json'`
  return `
Postern is ready on ${baseUrl}  (Ctrl-C stops it)

The dashboard is ${baseUrl}/dashboard and the token to sign in with

  ${adminToken}

Ask something. This key is of the development environment: the built-in mock answers, at no cost.

  curl ${baseUrl}/api/ai/complete -H 'X-API-Key: ${gatewayKey}' ${json} -d '{"messages":[{"role":"user","content":"Hello!"}]}'

See what it used:

  curl '${baseUrl}/api/usage?projectId=${projectId}' -H 'X-API-Key: ${projectKey}'

To reach a real provider, start with its variables set, such as OPENAI_API_KEY, and make a production key:

  curl ${baseUrl}/api/admin/projects/${projectId}/keys -H 'Authorization: Bearer ${adminToken}' ${json} -d '{"name":"Backend"}'

All of this is in .dev/keys.json for as long as Postern runs. Projects, keys of your own and figures stay in .wrangler/state
until you delete it; another port is POSTERN_PORT.

`
}

/** Ends wrangler's process group, first politely. */
function stop(wrangler) {
  signalGroup(wrangler, 'SIGINT')
  setTimeout(() => signalGroup(wrangler, 'SIGKILL'), STOP_TIMEOUT_MS)
}

function signalGroup(leader, signal) {
  try {
    process.kill(-leader.pid, signal)
  } catch {
    // All of it has ended already.
  }
}

/** Fails if somebody listens already: perhaps another one of us, whose files must stay. */
function portIsFree() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', () => reject(new Error(`port ${PORT} is taken: stop what listens there, or set POSTERN_PORT`)))
    server.listen(Number(PORT), '127.0.0.1', () => server.close(resolve))
  })
}

async function main() {
  await portIsFree()
  const adminToken = randomBytes(32).toString('base64url')
  const wrangler = startWrangler(writeSecrets(adminToken))
  const output = new Output(wrangler)
  console.log('Starting both Workers …')
  let stopping = false
  let failed = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      stopping = true
      stop(wrangler)
    })
  }
  wrangler.on('exit', () => {
    removeFiles()
    signalGroup(wrangler, 'SIGKILL') // whatever of its group is left
    if (!stopping) {
      output.show({ all: true })
      console.error('dev: wrangler ended')
    }
    process.exit(stopping && !failed ? 0 : 1)
  })
  try {
    await output.ready
    const keys = await seed(adminToken)
    writePrivate(KEYS_FILE, `${JSON.stringify(keys, null, 2)}\n`)
    process.stdout.write(welcome(keys))
    output.show()
  } catch (error) {
    if (stopping) return
    output.show({ all: true })
    console.error(`dev: ${error.message}`)
    stopping = failed = true
    stop(wrangler)
  }
}

main().catch((error) => {
  console.error(`dev: ${error.message}`)
  process.exit(1)
})
