// Installs the pinned agents from npm, each into its own folder, without running their install scripts.
//
//	node test/agents/install.mjs [NAME ...]
//
// pins.json has the versions. It also has the integrity hashes of each agent's package, and of the agent's programs
// for Linux and macOS. Pi's package pins its dependencies. `node test/agents/renew.mjs` writes the file.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, '.tools/agents')
export const PINS = join(import.meta.dirname, 'pins.json')

/** The pins, keyed by agent: { package, version, integrity: { 'package@version': 'sha512-…' } }. */
export const pins = JSON.parse(readFileSync(PINS, 'utf8'))

/** Returns an agent's folder, which has node_modules. Installs the agent if it is missing. */
export function install(name) {
  const { package: of, version, integrity } = pins[name]
  const folder = join(FOLDER, `${name}-${version}`)
  if (existsSync(folder)) return folder
  const unpacked = `${folder}.${process.pid}`
  mkdirSync(unpacked, { recursive: true })
  try {
    download(unpacked, `${of}@${version}`)
    verify(JSON.parse(readFileSync(join(unpacked, 'package-lock.json'), 'utf8')).packages, of, integrity)
    if (!existsSync(folder)) renameSync(unpacked, folder)
  } finally {
    rmSync(unpacked, { recursive: true, force: true })
  }
  return folder
}

function download(folder, spec) {
  console.error(`install ${spec}`)
  const args = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', spec]
  try {
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  } catch {
    throw new Error(`npm could not install ${spec}: these tests need the npm registry once, to install the agents`)
  }
}

// The lock file lists packages by folder, with the integrity hashes from the registry.
function verify(packages, of, integrity) {
  const seen = new Set()
  for (const [path, { version, name, integrity: got }] of Object.entries(packages)) {
    const spec = `${name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`
    if (integrity[spec] === undefined) continue
    seen.add(spec)
    if (got !== integrity[spec]) throw new Error(`${spec} has the integrity ${got}, and pins.json ${integrity[spec]}`)
  }
  if (![...seen].some((spec) => spec.startsWith(`${of}@`))) throw new Error(`pins.json has no integrity of ${of}`)
}

if (process.argv[1] === import.meta.filename) {
  for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(pins)) install(name)
}
