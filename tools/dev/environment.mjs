// What the Workers are to know, in files: an argument list can be read by every user of the machine.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GATEWAY_FILE, ROOT, writeControlFile, writePrivate } from './files.mjs'

const MASTER_FILE = join(ROOT, '.dev/master-keys')
const USER_FILE = join(ROOT, '.dev.vars')

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
  'POSTERN_ACCESS_TEAM',
  'POSTERN_ACCESS_AUD',
  'POSTERN_ACCESS_OWNERS',
  'POSTERN_PRIVATE_WEBHOOKS',
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

/** Writes both Workers' files and returns wrangler's arguments for them. */
export function writeEnvironment(adminToken) {
  const master = ['POSTERN_MASTER_KEYS', masterKeys()]
  const control = [['POSTERN_ADMIN_TOKEN', adminToken], master, ...present(CONTROL_VARIABLES)]
  writeControlFile(envText(control, false))
  writePrivate(GATEWAY_FILE, envText([master, ...gatewayVariables()], true))
  // With any --env-file, wrangler does not look for .dev.vars itself. The shell wins over it.
  const files = existsSync(USER_FILE) ? [USER_FILE, GATEWAY_FILE] : [GATEWAY_FILE]
  return files.map((file) => `--env-file=${file}`)
}
