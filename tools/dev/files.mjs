// The files of `make dev`, in a checkout of its own. Their secrets are for this user only.
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processes } from './processes.mjs'

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const PORT = process.env.POSTERN_PORT || '8787'
export const BASE_URL = `http://127.0.0.1:${PORT}`

// {"baseUrl","projectId","gatewayKey","projectKey","adminToken"}: there exactly while all of it works.
export const KEYS_FILE = join(ROOT, '.dev/keys.json')
// The same without baseUrl, for the next start: the API shows a key only once.
const SECRETS_FILE = join(ROOT, '.dev/secrets.json')
const SECRETS = ['adminToken', 'projectId', 'gatewayKey', 'projectKey']
// The process that runs in this checkout: two would share its state and overwrite each other's files.
const LOCK_FILE = join(ROOT, '.dev/pid')

// For the gateway, by --env-file. wrangler gives that to the first Worker only.
export const GATEWAY_FILE = join(ROOT, '.dev/gateway.env')
// For the control Worker, which has only this place.
export const CONTROL_FILE = join(ROOT, 'worker/control/.dev.vars')
const CONTROL_MARK = '# Written by tools/dev.mjs at each start, removed when it stops.\n'

/** Writes a file that only this user can read, whole or not at all. */
export function writePrivate(path, text) {
  const temporary = writeTemporary(path, text)
  renameSync(temporary, path)
}

function writeTemporary(path, text) {
  const temporary = `${path}.${process.pid}`
  mkdirSync(dirname(path), { recursive: true })
  rmSync(temporary, { force: true })
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  return temporary
}

/** Fails if another `make dev` runs in this checkout. */
export function takeLock() {
  const temporary = writeTemporary(LOCK_FILE, String(process.pid))
  try {
    removeStaleLock()
    linkSync(temporary, LOCK_FILE) // with its text, and only if there is none
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    const pid = readFileSync(LOCK_FILE, 'utf8')
    throw new Error(`make dev runs in this folder already: stop it first (process ${pid})`)
  } finally {
    rmSync(temporary)
  }
}

/** Removes the lock of a process that was killed. */
function removeStaleLock() {
  if (!existsSync(LOCK_FILE)) return
  const holder = Number(readFileSync(LOCK_FILE, 'utf8'))
  const runs = processes().some(({ pid, command }) => pid === holder && command.includes('dev.mjs'))
  if (!runs) rmSync(LOCK_FILE, { force: true })
}

export function releaseLock() {
  rmSync(LOCK_FILE, { force: true })
}

/** What the last start left: {adminToken, projectId, gatewayKey, projectKey}, or {} if that cannot be read. */
export function readSecrets() {
  try {
    const secrets = JSON.parse(readFileSync(SECRETS_FILE, 'utf8'))
    return SECRETS.every((name) => typeof secrets[name] === 'string' && /^[\w-]+$/.test(secrets[name])) ? secrets : {}
  } catch {
    return {}
  }
}

/** Remembers the secrets, and then shows them in .dev/keys.json. */
export function writeKeys(secrets) {
  writePrivate(SECRETS_FILE, JSON.stringify(secrets, SECRETS, 2))
  writePrivate(KEYS_FILE, `${JSON.stringify({ baseUrl: BASE_URL, ...secrets }, null, 2)}\n`)
}

/** Fails if worker/control/.dev.vars is the user's own. */
export function checkControlFile() {
  if (existsSync(CONTROL_FILE) && !readFileSync(CONTROL_FILE, 'utf8').startsWith(CONTROL_MARK)) {
    throw new Error('worker/control/.dev.vars is in the way: this would overwrite it')
  }
}

export function writeControlFile(text) {
  writePrivate(CONTROL_FILE, CONTROL_MARK + text)
}

/** Removes what is valid only while the Workers run. */
export function removeFiles() {
  for (const path of [KEYS_FILE, GATEWAY_FILE, CONTROL_FILE]) rmSync(path, { force: true })
}
