// Follows the page about frameworks as a reader would. It packs the packages as the page says. It runs a section's
// commands and programs in an empty folder outside the checkout.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../../../test/sdk/gateway.mjs'

const run = promisify(execFile)
const examples = join(import.meta.dirname, '..')
const text = readFileSync(join(ROOT, 'docs/clients/frameworks.md'), 'utf8')
const root = mkdtempSync(join(tmpdir(), 'postern-page-'))
after(() => rmSync(root, { recursive: true }))

const blocksOf = (section) => [...section.matchAll(/```(\w+)\n(.*?)```/gs)].map(([, kind, code]) => ({ kind, code }))
const [introduction, ...sections] = text.split(/^## /m)

/** The examples' files: path and content. */
export const FILES = Object.fromEntries(
  [...readdirSync(examples).filter((name) => name.endsWith('.mjs')), 'openai-go/main.go'].map((name) => [
    name,
    readFileSync(join(examples, name), 'utf8'),
  ]),
)

/** The blocks of the page that are programs. */
export const PROGRAMS = blocksOf(text).filter(({ kind }) => kind !== 'sh')

/**
 * Packs the packages with the page's command. The command before it builds them, which `make test` has already done.
 */
async function pack() {
  const [, command] = blocksOf(introduction)[0].code.split('\n')
  assert.match(command, /^npm pack (\.\/clients\/[\w-]+ ?)+$/)
  await run('sh', ['-c', `${command} --silent --ignore-scripts --pack-destination ${root}`], { cwd: ROOT })
}

const packed = pack()

/**
 * Creates a folder for the section with a given title and runs the section's commands in it. The section's programs
 * have the same file names as in the examples. npm prefers packages from its cache. If the commands install nothing
 * from this checkout, their result is always the same. The folder then stays in the user's cache for the next run.
 */
export async function follow(title) {
  const blocks = blocksOf(sections.find((section) => section.startsWith(`${title}\n`)))
  const commands = blocks.filter(({ kind }) => kind === 'sh').map(({ code }) => code)
  const folder = commands.join().includes('…') ? await ours(title, commands) : await others(commands)
  for (const { code } of blocks) {
    const name = Object.keys(FILES).find((file) => FILES[file] === code)
    if (name) writeFileSync(join(folder, name.split('/').at(-1)), code)
  }
  return folder
}

async function ours(title, commands) {
  await packed
  const folder = mkdtempSync(join(root, title.replaceAll(/\W+/g, '-')))
  await carryOut(commands, folder)
  return folder
}

async function others(commands) {
  const name = createHash('sha256').update(commands.join()).digest('hex').slice(0, 16)
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'postern-page')
  const kept = join(cache, name)
  if (existsSync(kept)) return kept
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(`${kept}-`)
  await carryOut(commands, folder)
  // If another run was faster, its folder is just as good.
  await rename(folder, kept).catch(() => rmSync(folder, { recursive: true }))
  return kept
}

async function carryOut(commands, cwd) {
  const settings = { prefer_offline: 'true', audit: 'false', fund: 'false', strict_peer_deps: 'true' }
  const variables = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`npm_config_${name}`, value]))
  const env = { ...process.env, ...variables, GOFLAGS: '' }
  for (const command of commands) await run('sh', ['-ec', command.replaceAll('…', root)], { cwd, env })
}
