// Reads declaration files in the form that tsc writes: statements, each after its comment. The indentation shows the
// level.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The statements of a text whose lines are indented by at least `indent` spaces.
 * @param {string[]} lines
 * @param {number} indent
 * @returns {{comment: string[], code: string[]}[]}
 */
function statements(lines, indent) {
  const found = []
  let comment = []
  for (let at = 0; at < lines.length; ) {
    const isComment = lines[at].startsWith(`${' '.repeat(indent)}/**`)
    const end = isComment ? endOf(lines, at, /\*\/\s*$/) : endOf(lines, at, new RegExp(`^ {${indent}}(?! ).*[;}]$`))
    const taken = lines.slice(at, end + 1).map((line) => line.slice(indent))
    at = end + 1
    if (isComment) comment = taken
    else {
      found.push({ comment, code: taken })
      comment = []
    }
  }
  return found
}

function endOf(lines, from, pattern) {
  const at = lines.findIndex((line, i) => i >= from && pattern.test(line))
  return at < 0 ? lines.length - 1 : at
}

/** The text of a doc comment, in Markdown. */
export function textOf(comment) {
  const text = comment.join('\n').replace(/^\/\*\*[ \n]?|\s*\*\/$/g, '')
  return text.replace(/^ ?\* ?/gm, '').trim()
}

/** The members of an interface or a class, from its lines. */
export function membersOf(code) {
  return statements(code.slice(1, -1), 4)
}

const NAMED = /^export (?:declare )?(?:const|class|interface|type|function) (\w+)/

/** The exported declarations of a file by name. Overloads count as one declaration. */
function declared(text) {
  const found = new Map()
  for (const { comment, code } of statements(text.trim().split('\n'), 0)) {
    const name = NAMED.exec(code[0])?.[1]
    if (name === undefined) continue
    const earlier = found.get(name)
    if (earlier) earlier.code.push(...code)
    else found.set(name, { name, comment, code })
  }
  return found
}

/** The names that a file exports: its own and re-exported names, with the files that declare them. */
function exportsOf(folder, file, text = readFileSync(join(folder, `${file}.d.ts`), 'utf8')) {
  const found = [...declared(text).keys()].map((name) => ({ name, file }))
  for (const [, list, from] of text.matchAll(/^export (?:type )?\{([^}]*)\} from '\.\/(.*)\.js'/gm)) {
    const names = list.split(',').map((item) => item.trim().replace(/^type /, ''))
    found.push(...names.filter((name) => name && !/ as default$/.test(name)).map((name) => ({ name, file: from })))
  }
  for (const [, from] of text.matchAll(/^export \* from '\.\/(.*)\.js'/gm)) found.push(...exportsOf(folder, from))
  return found
}

/**
 * The declarations that an entry point of the package exports, grouped by file and in the file's order.
 * @param {string} folder of the declaration files
 * @param {string} entry such as `index`
 */
export function entryOf(folder, entry) {
  const names = exportsOf(folder, entry)
  const files = [...new Set(names.map(({ file }) => file))]
  return files.flatMap((file) => {
    const all = declared(readFileSync(join(folder, `${file}.d.ts`), 'utf8'))
    const wanted = new Set(names.filter((item) => item.file === file).map(({ name }) => name))
    for (const name of wanted) if (!all.has(name)) throw new Error(`${file}.d.ts does not declare ${name}`)
    return [...all.values()].filter(({ name }) => wanted.has(name)).map((item) => ({ ...item, file }))
  })
}
