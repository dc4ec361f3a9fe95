// Splits a file into the pieces of text that people read: paragraphs of documents, strings of the interface, and
// comments.
import { extname } from 'node:path'
import { lex } from './lexer.mjs'

/** A string counts as text if it has three words in a row. Shorter ones are names, keys and labels. */
const THREE_WORDS = /[A-Za-z…][a-z']*,? [a-z'…]+,? [A-Za-z'…]+/
/** Strings that start like code, markup or a wire format. */
const CODE = /^\s*[{[<]|^[A-Z]+ \/|^SELECT |^data:|=>/
/** Consecutive format verbs. They stand for two different words, not for a repeated word. */
const VERBS = /%[a-z](?: %[a-z])+/g
const TEXT_ATTRIBUTE = /\b(?:title|placeholder|label|help|hint|text|name|empty|aria-label|confirm|action)="([^"]*)"/g

/** Inline code, addresses and tags are not prose. Line breaks are kept, so that line numbers stay correct. */
function mask(text) {
  return text
    .replace(/```[\s\S]*?```/g, (code) => code.replace(/[^\n]/g, ''))
    .replace(/`[^`]*`/g, 'code')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/https?:\/\/\S+/g, 'link')
}

function paragraphs(text, kind, first = 1) {
  const found = []
  let open
  for (const [i, line] of text.split('\n').entries()) {
    if (!line.trim() || /^\s*([-*#|=]|\d+\.)/.test(line)) open = undefined
    if (!line.trim()) continue
    if (open) open.text += `\n${line}`
    else {
      open = { kind, line: first + i, text: line }
      found.push(open)
    }
  }
  return found
}

const markdown = (text) => paragraphs(mask(text), 'prose')

/** Descriptions, summaries and titles of an OpenAPI document. */
function openapi(text) {
  const found = []
  const lines = text.split('\n')
  for (let i = 0; i < lines.length; i++) {
    const m = /^(\s*)(?:- )?(?:description|summary|title): ?(.*)$/.exec(lines[i])
    if (!m) continue
    const indent = m[1].length
    const piece = [/^[|>]/.test(m[2]) ? '' : m[2]]
    const first = i + 1
    while (i + 1 < lines.length && (/^\s*$/.test(lines[i + 1]) || lines[i + 1].search(/\S/) > indent))
      piece.push(lines[++i])
    found.push(...paragraphs(mask(piece.join('\n')), 'prose', first))
  }
  return found
}

/** Lines that begin with a mark, such as "#", joined into paragraphs. */
function marked(text, mark, kind) {
  const lines = text.split('\n').map((line) => {
    const m = mark.exec(line)
    return m ? m[1] : ''
  })
  return paragraphs(mask(lines.join('\n')), kind)
}

const hashComments = (text) => marked(text, /^(?:.*\s)?#+ (.*)$/, 'comment')
const transcripts = (text) => marked(text, /^(?:#|==) ?(.*)$/, 'comment')

function shell(text) {
  return [...hashComments(text), ...marked(text, /\becho (?:-e )?["'](.*)["']/, 'interface')]
}

/** Adjacent line comments are one piece. */
function comments(tokens) {
  const found = []
  let last
  for (const t of tokens.filter((t) => t.kind === 'comment')) {
    if (last && t.alone && last.alone && t.line === last.end + 1) {
      last.text += `\n${t.text}`
      last.end = t.line
    } else {
      last = { ...t, end: t.line }
      found.push(last)
    }
  }
  return found.flatMap((t) => paragraphs(mask(t.text), 'comment', t.line))
}

function strings(tokens, kind) {
  const found = []
  for (const t of tokens.filter((t) => t.kind === 'string' && !(t.raw && t.text.includes('\n')))) {
    if (t.tag === 'html') {
      for (const m of t.text.matchAll(TEXT_ATTRIBUTE)) found.push({ kind, line: t.line, text: m[1] })
      const visible = t.text.replace(/<[^>]*>/g, (tag) => '\n'.repeat(tag.split('\n').length - 1) || ' ')
      found.push(...paragraphs(visible, kind, t.line))
    } else if (THREE_WORDS.test(t.text) && !CODE.test(t.text)) {
      found.push({ kind, line: t.line, text: t.text.replace(VERBS, '%s') })
    }
  }
  return found
}

/** Only developers read the text of tests, like comments. */
const isTest = (file) => /_test\.go$|\.test\.mjs$|(^|\/)(test|testdata|conformance)\//.test(file)

/** Files whose strings imitate the words of others. */
const isImitation = (file) => file.startsWith('test/fakeprovider/')

function code(language) {
  return (text, file) => {
    const tokens = lex(text, language)
    if (isImitation(file)) return comments(tokens)
    return [...comments(tokens), ...strings(tokens, isTest(file) ? 'comment' : 'interface')]
  }
}

const READERS = {
  '.md': markdown,
  '.yaml': (text, file) => (file.endsWith('openapi.yaml') ? openapi(text) : hashComments(text)),
  '.txt': transcripts,
  '.go': code('go'),
  '.js': code('js'),
  '.mjs': code('js'),
  '.ts': code('js'),
  '.css': code('css'),
  '.py': hashComments,
  '.sh': shell,
  '.toml': hashComments,
}

/**
 * The text of a file, piece by piece.
 * @returns {{kind: 'prose' | 'interface' | 'comment', line: number, text: string}[]}
 */
export function pieces(file, text) {
  const read = /(^|\/)Makefile$/.test(file) ? hashComments : READERS[extname(file)]
  return read ? read(text, file) : []
}
