// Writes docs/clients/reference/typescript.md from the package's declarations. An exported name without a comment is an
// error.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { entryOf, membersOf, textOf } from './declarations.mjs'

const PAGE = 'docs/clients/reference/typescript.md'
const ROOT = join(import.meta.dirname, '../../..')

/**
 * The page's sections in order: title, entry point of the package, and the files that declare its names. The entry
 * point `adapter` is left out, because only Postern's own adapters use it.
 */
const SECTIONS = [
  ['Client and options', 'index', ['client', 'options', 'key', 'hooks', 'log']],
  ['Completions', 'index', ['ai', 'tools', 'schema', 'stream', 'events']],
  ['Governor', 'index', ['governor']],
  ['Usage and health', 'index', ['reports']],
  ['Violations', 'index', ['violations']],
  ['Models', 'index', ['models']],
  ['Compliance', 'index', ['compliance']],
  ['Webhooks', 'index', ['webhooks']],
  ['Promises and pages', 'index', ['promise', 'page']],
  ['Metadata of responses', 'index', ['meta']],
  ['Errors', 'index', ['errors']],
  ['Version', 'index', ['version']],
  ['Chat handler', 'handler', ['handler', 'relay', 'incoming']],
  ['Chat handler for Express', 'express', ['express']],
  ['Chat in the browser', 'browser', ['browser']],
]

const INTRO = `# Reference of the TypeScript client

<!-- Made from the comments in clients/ts/src by \`make generate\`. Change those. -->

[The guide](../typescript.md) shows how to use the client; [behavior.md](../behavior.md) explains retries, timeouts and
logs. An optional member may also be \`undefined\`, which is the same as absent.
`

/** Code as the package's users write it: without semicolons, indented by two spaces, an optional member as \`?\`. */
function code(lines) {
  const shown = lines.map((line) => {
    const text = line.replace(/^ +/, (spaces) => (/^ *\*/.test(line) ? spaces : spaces.slice(spaces.length / 2)))
    return text.replace(/;$/, '').replace(/^(\s*(?:readonly )?\w+\?: .*) \| undefined$/, '$1')
  })
  return shown
    .join('\n')
    .replace(
      /^( *)\/\*\*\n((?: +\*.*\n)+)/gm,
      (_, indent, body) => `${indent}/**\n${body.replace(/^ +/gm, `${indent} `)}`,
    )
    .replace(/^export (?:declare )?/, '')
    .replace(/ = "[\d.]+"$/, ': string')
}

function section(level, name, comment, lines) {
  const text = textOf(comment)
  if (text === '') throw new Error(`${name} has no doc comment`)
  return `\n${'#'.repeat(level)} ${name}\n\n\`\`\`ts\n${code(lines)}\n\`\`\`\n\n${text}\n`
}

/** Methods and overloads of a class by name. The class comment says what iterating yields. */
function methodsOf(members) {
  const found = new Map()
  for (const member of members) {
    const name = /^(\w+)(?:<.*>)?\(/.exec(member.code[0])?.[1]
    if (name === undefined || name === 'constructor') continue
    if (!found.has(name)) found.set(name, { comment: member.comment, code: [] })
    found.get(name).code.push(...member.code)
  }
  return found
}

/** Whether a member belongs in its class's code block: a field, or a constructor with a comment. */
function isField({ comment, code: [first] }) {
  if (/^(?:#private|static get \[Symbol)/.test(first)) return false
  return first.startsWith('constructor(') ? comment.length > 0 : !/^(?:\[Symbol\.\w+\]|\w+)(?:<.*>)?\(/.test(first)
}

const indented = (lines) => lines.map((line) => `    ${line}`)

function classOf({ name, comment, code: lines }) {
  const members = membersOf(lines)
  const fields = members.filter(isField).flatMap((member) => indented([...member.comment, ...member.code]))
  const head = fields.length > 0 ? [lines[0], ...fields, '}'] : [lines[0].replace(/ \{$/, '')]
  let text = section(3, name, comment, head)
  for (const [method, { comment, code }] of methodsOf(members)) {
    // A method without a comment overrides one that has a comment.
    if (comment.length === 0 && / extends /.test(lines[0])) continue
    text += section(4, `${name}.${method}`, comment, code)
  }
  return text
}

const isClass = ({ code }) => code[0].startsWith('export declare class')
const servicesFirst = (items) => [...items.filter(isClass), ...items.filter((item) => !isClass(item))]

function entry(item) {
  return isClass(item) ? classOf(item) : section(3, item.name, item.comment, item.code)
}

/** The page for a folder of declarations. */
export function render(folder, sections = SECTIONS) {
  const shown = new Set()
  let body = ''
  for (const [title, from, files] of sections) {
    body += `\n## ${title}\n`
    if (from !== 'index') body += `\nFrom \`@postern-ai/client/${from}\`.\n`
    const all = entryOf(folder, from)
    for (const item of files.flatMap((file) => servicesFirst(all.filter((item) => item.file === file)))) {
      const id = `${item.file}.${item.name}`
      if (!shown.has(id)) body += entry(item)
      shown.add(id)
    }
  }
  for (const from of new Set(sections.map(([, from]) => from))) {
    const missing = entryOf(folder, from).find(({ file, name }) => !shown.has(`${file}.${name}`))
    if (missing)
      throw new Error(`${missing.name} is in no section: add ${missing.file} to clients/ts/tools/reference.mjs`)
  }
  const links = sections.map(([title]) => `[${title}](#${title.toLowerCase().replaceAll(' ', '-')})`)
  return `${INTRO}\n${links.join(' · ')}\n${body}`
}

function main() {
  const folder = mkdtempSync(join(tmpdir(), 'postern-declarations-'))
  try {
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    execFileSync(tsc, ['-p', join(ROOT, 'clients/ts/tsconfig.build.json'), '--outDir', folder], { stdio: 'inherit' })
    writeFileSync(join(ROOT, PAGE), render(folder))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    main()
  } catch (error) {
    console.error(`reference: ${error.message}`)
    process.exit(1)
  }
}
