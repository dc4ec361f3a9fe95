// Pins the newest version of each agent that npm can install, and prints what it sends that earlier versions did not.
//
//	node test/agents/renew.mjs [NAME ...]
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PINS, pins } from './install.mjs'

const TRIES = 10 // newest versions

/** npm's information about a package, or undefined if npm does not know the package. */
function view(spec, ...fields) {
  try {
    const text = execFileSync('npm', ['view', spec, ...fields, '--json'], { stdio: ['ignore', 'pipe', 'ignore'] })
    return text.length === 0 ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The program packages that a version needs on Linux and macOS, as npm names them. */
function programs(of, version) {
  const optional = Object.entries(view(`${of}@${version}`, 'optionalDependencies') ?? {})
  return optional
    .filter(([name]) => /-(linux|darwin)-(x64|arm64)$/.test(name))
    .map(([name, range]) => (range.startsWith('npm:') ? range.slice('npm:'.length) : `${name}@${range}`))
}

function pinned(of, version) {
  const specs = [`${of}@${version}`, ...programs(of, version)]
  const integrity = Object.fromEntries(specs.map((spec) => [spec, view(spec, 'dist.integrity')]))
  return { package: of, version, integrity }
}

/** The newest version of a package whose dependencies are all published. */
function newest(of) {
  const versions = [view(of, 'versions')].flat().filter((version) => /^\d+\.\d+\.\d+$/.test(version))
  for (const version of versions.slice(-TRIES).reverse()) {
    try {
      const args = ['install', '--dry-run', '--ignore-scripts', '--prefix', empty, `${of}@${version}`]
      execFileSync('npm', args, { cwd: empty, stdio: 'ignore' })
      return version
    } catch {
      console.error(`${of}@${version} cannot be installed`)
    }
  }
  throw new Error(`${of}: none of the newest ${TRIES} versions can be installed`)
}

const empty = mkdtempSync(join(tmpdir(), 'postern-renew-'))
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(pins)
for (const name of names) {
  const of = pins[name].package
  const version = newest(of)
  console.log(`${name}: ${pins[name].version} -> ${version}`)
  pins[name] = pinned(of, version)
}
rmSync(empty, { recursive: true })
writeFileSync(PINS, `${JSON.stringify(pins, null, 2)}\n`)
const env = { ...process.env, AGENTS: names.join(','), TEST_TARGET: 'serve' }
execFileSync(process.execPath, [join(import.meta.dirname, 'sent.mjs')], { env, stdio: 'inherit' })
