// The files of `make dev`. Only the current user can read those with secrets.
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processes } from './processes.mjs'

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const PORT = process.env.POSTERN_PORT || '8787'
const MAX_PORT = 65_535
export const BASE_URL = `http://127.0.0.1:${PORT}`

// {"baseUrl","projectId","gatewayKey","projectKey","adminToken"}. The file exists only while all of them work.
export const KEYS_FILE = join(ROOT, '.dev/keys.json')
// The gateway key alone, for shells without Node. It exists as long as KEYS_FILE.
const GATEWAY_KEY_FILE = join(ROOT, '.dev/gateway-key')
// The same without baseUrl, kept for the next start because the API shows a key only once.
const SECRETS_FILE = join(ROOT, '.dev/secrets.json')
const SECRETS = ['adminToken', 'projectId', 'gatewayKey', 'projectKey']
// The ID of the running process. Two processes in one checkout would share state and overwrite each other's files.
const LOCK_FILE = join(ROOT, '.dev/pid')

// The gateway's variables, passed with --env-file, which wrangler applies only to the first Worker.
export const GATEWAY_FILE = join(ROOT, '.dev/gateway.env')
// The control Worker's variables. wrangler reads a second Worker's variables only from this path.
export const CONTROL_FILE = join(ROOT, 'worker/control/.dev.vars')
const CONTROL_MARK = '# Written by tools/dev.mjs at each start, removed when it stops.\n'

/** Throws if POSTERN_PORT is not a port. */
export function checkPort() {
  if (!/^\d{1,5}$/.test(PORT) || Number(PORT) < 1 || Number(PORT) > MAX_PORT) {
    throw new Error(`POSTERN_PORT must be an integer between 1 and ${MAX_PORT}, got ${JSON.stringify(PORT)}`)
  }
}

/** Writes a file atomically, readable only by the current user. */
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

/** Takes the lock. Throws if another `make dev` is running in this checkout. */
export function takeLock() {
  const temporary = writeTemporary(LOCK_FILE, String(process.pid))
  try {
    removeStaleLock()
    linkSync(temporary, LOCK_FILE) // atomic: fails if the lock exists
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    const pid = readFileSync(LOCK_FILE, 'utf8')
    throw new Error(`make dev already runs in this folder (process ${pid}); stop it first`)
  } finally {
    rmSync(temporary)
  }
}

/** Removes the lock of a process that is no longer running. */
function removeStaleLock() {
  if (!existsSync(LOCK_FILE)) return
  const holder = Number(readFileSync(LOCK_FILE, 'utf8'))
  const runs = processes().some(({ pid, command }) => pid === holder && command.includes('dev.mjs'))
  if (!runs) rmSync(LOCK_FILE, { force: true })
}

export function releaseLock() {
  rmSync(LOCK_FILE, { force: true })
}

/** Returns the last run's {adminToken, projectId, gatewayKey, projectKey}, or {} if the file is missing or invalid. */
export function readSecrets() {
  try {
    const secrets = JSON.parse(readFileSync(SECRETS_FILE, 'utf8'))
    return SECRETS.every((name) => typeof secrets[name] === 'string' && /^[\w-]+$/.test(secrets[name])) ? secrets : {}
  } catch {
    return {}
  }
}

/** Writes the secrets for the next start, then .dev/gateway-key and .dev/keys.json. */
export function writeKeys(secrets) {
  writePrivate(SECRETS_FILE, JSON.stringify(secrets, SECRETS, 2))
  writePrivate(GATEWAY_KEY_FILE, `${secrets.gatewayKey}\n`)
  writePrivate(KEYS_FILE, `${JSON.stringify({ baseUrl: BASE_URL, ...secrets }, null, 2)}\n`)
}

/** Throws if worker/control/.dev.vars was not written by `make dev`. */
export function checkControlFile() {
  if (existsSync(CONTROL_FILE) && !readFileSync(CONTROL_FILE, 'utf8').startsWith(CONTROL_MARK)) {
    throw new Error(
      'worker/control/.dev.vars exists and would be overwritten; move its variables to the shell and delete it',
    )
  }
}

export function writeControlFile(text) {
  writePrivate(CONTROL_FILE, CONTROL_MARK + text)
}

/** Removes the files that are valid only while the Workers are running. */
export function removeFiles() {
  for (const path of [KEYS_FILE, GATEWAY_KEY_FILE, GATEWAY_FILE, CONTROL_FILE]) rmSync(path, { force: true })
}
