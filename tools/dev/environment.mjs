// Writes the Workers' variables to files, because every user of the machine can read a process's arguments.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GATEWAY_FILE, ROOT, writeControlFile, writePrivate } from './files.mjs'

const MASTER_FILE = join(ROOT, '.dev/master-keys')
const SIGNING_FILE = join(ROOT, '.dev/signing-key')
const USER_FILE = join(ROOT, '.dev.vars')

/** The gateway's variables from the shell: its own, and those of the catalog's providers. */
function gatewayVariables() {
  const { providers } = JSON.parse(readFileSync(join(ROOT, 'core/catalog/catalog.json'), 'utf8'))
  const names = providers.flatMap(({ baseUrlEnv, keyEnv, settings = {} }) => [
    baseUrlEnv,
    keyEnv,
    ...Object.values(settings).map(({ env }) => env),
  ])
  return present([
    'POSTERN_CATALOG',
    'POSTERN_MAX_BODY_BYTES',
    'POSTERN_CONTROL',
    'POSTERN_DOCS',
    'POSTERN_LOG',
    ...names,
  ])
}

/** The control Worker's variables. */
const CONTROL_VARIABLES = [
  'POSTERN_CATALOG',
  'POSTERN_VIEWER_TOKEN',
  'POSTERN_ACCESS_TEAM',
  'POSTERN_ACCESS_AUD',
  'POSTERN_ACCESS_OWNERS',
  'POSTERN_PRIVATE_WEBHOOKS',
]

/** The key that encrypts projects' own provider keys. It is kept across restarts, like the data it encrypts. */
const masterKeys = () => kept('POSTERN_MASTER_KEYS', MASTER_FILE, 'dev:')

/** The key that signs the compliance data's checkpoints. It is kept across restarts, like the checkpoints. */
const signingKey = () => kept('POSTERN_SIGNING_KEY', SIGNING_FILE, '')

/** Returns a shell variable, or a prefix and 32 random bytes in base64, which are kept in a file. */
function kept(name, file, prefix) {
  if (process.env[name]) return process.env[name]
  if (!existsSync(file)) writePrivate(file, `${prefix}${randomBytes(32).toString('base64')}`)
  return readFileSync(file, 'utf8')
}

function present(names) {
  return names.filter((name) => process.env[name]).map((name) => [name, process.env[name]])
}

/** The contents of an env file. wrangler expands $ in env files (expanded) but not in .dev.vars. */
function envText(variables, expanded) {
  return variables
    .map(([name, value]) => {
      const quote = ["'", '`'].find((q) => !value.includes(q))
      if (quote === undefined)
        throw new Error(`${name} contains both ' and \`, which env files cannot quote; set it in .dev.vars`)
      return `${name}=${quote}${expanded ? value.replaceAll('$', '\\$') : value}${quote}\n`
    })
    .join('')
}

/** Writes both Workers' env files and returns the wrangler arguments that load them. */
export function writeEnvironment(adminToken) {
  const master = ['POSTERN_MASTER_KEYS', masterKeys()]
  const signing = ['POSTERN_SIGNING_KEY', signingKey()]
  const control = [['POSTERN_ADMIN_TOKEN', adminToken], master, signing, ...present(CONTROL_VARIABLES)]
  writeControlFile(envText(control, false))
  writePrivate(GATEWAY_FILE, envText([master, ...gatewayVariables()], true))
  // With --env-file, wrangler does not read .dev.vars on its own. The later file, with the shell's values, wins.
  const files = existsSync(USER_FILE) ? [USER_FILE, GATEWAY_FILE] : [GATEWAY_FILE]
  return files.map((file) => `--env-file=${file}`)
}
