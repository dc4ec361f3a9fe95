// The rules for words: a house list of regular expressions for all text, and write-good with a limit on the length
// of sentences for documents and the interface.
import { readFileSync } from 'node:fs'
import writeGood from 'write-good'

/**
 * A row of the house list. match is a regular expression for whole words, in which a space matches any white space.
 * instead is the advice. in lists kinds of text: "prose", "interface", "comment", "dashboard". The default is all
 * kinds. bad and good are examples for the tests.
 */
export const house = JSON.parse(readFileSync(new URL('house.json', import.meta.url), 'utf8'))

const compiled = house.map((rule) => ({
  ...rule,
  pattern: new RegExp(`(?<![\\w-])(?:${rule.match.replaceAll(' ', '\\s+')})(?![\\w-])`, 'gi'),
}))

/** A reference needs "is set", "only", "too many" and "so", so these checks are off. */
const WRITE_GOOD = { passive: false, adverb: false, weasel: false, so: false, eprime: false }
/** Technical terms that write-good considers wordy, and placeholders for code. */
const TERMS = /^(minimum|maximum|multiple|code|link|…)/i
const MAX_WORDS = 32

const isDashboard = (file) => file.startsWith('control/web/src/')

function applies(rule, piece, file) {
  return (
    !rule.in ||
    rule.in.includes(piece.kind) ||
    (rule.in.includes('dashboard') && piece.kind === 'interface' && isDashboard(file))
  )
}

function* houseFindings(piece, file) {
  for (const rule of compiled) {
    if (!applies(rule, piece, file)) continue
    for (const m of piece.text.matchAll(rule.pattern)) yield { at: m.index, words: m[0], advice: rule.instead }
  }
}

function* writeGoodFindings(piece) {
  // On one line, because write-good does not find phrases across line breaks.
  for (const s of writeGood(piece.text.replaceAll('\n', ' '), WRITE_GOOD)) {
    const words = piece.text.substr(s.index, s.offset)
    if (TERMS.test(words)) continue
    yield { at: s.index, words, advice: s.reason.replace(/^"[^"]*" /, '') }
  }
}

function* longSentences(piece) {
  for (const m of piece.text.matchAll(/[^.!?:;|]+/g)) {
    const count = m[0].split(/\s+/).filter((word) => /\w/.test(word)).length
    if (count > MAX_WORDS)
      yield { at: m.index, words: m[0].trim().slice(0, 40), advice: `${count} words in a sentence; split it` }
  }
}

/**
 * Returns the findings of the rules in one piece of a file's text.
 * @returns {{line: number, words: string, advice: string}[]}
 */
export function findings(piece, file) {
  const found = [...houseFindings(piece, file)]
  if (piece.kind !== 'comment') found.push(...writeGoodFindings(piece), ...longSentences(piece))
  return found.map(({ at, words, advice }) => ({
    line: piece.line + piece.text.slice(0, at).split('\n').length - 1,
    words: words.replace(/\s+/g, ' '),
    advice,
  }))
}
