// Finds the comments and string literals of Go, JavaScript, TypeScript and CSS. A lexer is enough, because it only
// matters where a literal begins and ends.

/** Characters after which a slash starts a regular expression rather than a division. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};\n+\-*%<>~^]|\b(?:return|typeof|case|in|of|yield|await|=>))\s*$/

/** A cursor over source text that also counts lines. */
class Reader {
  constructor(source, language) {
    this.source = source
    this.language = language
    this.at = 0
    this.tokens = []
  }

  line(at) {
    let line = 1
    for (let i = this.source.indexOf('\n'); i >= 0 && i < at; i = this.source.indexOf('\n', i + 1)) line++
    return line
  }

  /** Adds a token: kind 'comment' or 'string', its first line, and its text without delimiters. */
  add(kind, start, text, more) {
    this.tokens.push({ kind, line: this.line(start), text, ...more })
  }

  lineComment() {
    const start = this.at
    let end = this.source.indexOf('\n', start)
    if (end < 0) end = this.source.length
    const lead = this.source.slice(this.source.lastIndexOf('\n', start) + 1, start)
    this.add('comment', start, this.source.slice(start + 2, end), { alone: lead.trim() === '' })
    this.at = end
  }

  blockComment() {
    const start = this.at
    let end = this.source.indexOf('*/', start + 2)
    if (end < 0) end = this.source.length
    this.add('comment', start, this.source.slice(start + 2, end).replace(/\n\s*\*/g, '\n'))
    this.at = end + 2
  }

  quoted(quote) {
    const start = this.at++
    let text = ''
    while (this.at < this.source.length && this.source[this.at] !== quote && this.source[this.at] !== '\n') {
      if (this.source[this.at] === '\\') text += this.escape()
      else text += this.source[this.at++]
    }
    this.at++
    if (!(this.language === 'go' && quote === "'")) this.add('string', start, text)
  }

  escape() {
    const next = this.source[this.at + 1]
    this.at += 2
    return next === 'n' || next === 't' ? ' ' : next
  }

  rawString() {
    const start = this.at
    let end = this.source.indexOf('`', start + 1)
    if (end < 0) end = this.source.length
    this.add('string', start, this.source.slice(start + 1, end), { raw: true })
    this.at = end + 1
  }

  /** A template literal. Each interpolation becomes "…", and its own literals are also found. */
  template() {
    const start = this.at++
    const tag = /(\w*)$/.exec(this.source.slice(Math.max(0, start - 20), start))[1]
    let text = ''
    while (this.at < this.source.length && this.source[this.at] !== '`') {
      if (this.source[this.at] === '\\') text += this.escape()
      else if (this.source.startsWith('${', this.at)) {
        const from = this.at
        this.at += 2
        this.code('}')
        text += `…${'\n'.repeat(this.source.slice(from, this.at).split('\n').length - 1)}`
      } else text += this.source[this.at++]
    }
    this.at++
    this.add('string', start, text, { tag })
  }

  regex() {
    let inClass = false
    for (this.at++; this.at < this.source.length && this.source[this.at] !== '\n'; this.at++) {
      const c = this.source[this.at]
      if (c === '\\') this.at++
      else if (c === '[') inClass = true
      else if (c === ']') inClass = false
      else if (c === '/' && !inClass) break
    }
    this.at++
  }

  /** Code up to the closing brace of an interpolation, or to the end. */
  code(until) {
    let depth = 0
    while (this.at < this.source.length) {
      const c = this.source[this.at]
      if (until && c === until && depth === 0) {
        this.at++
        return
      }
      if (c === '{') depth++
      if (c === '}') depth--
      this.literal(c)
    }
  }

  literal(c) {
    const next = this.source[this.at + 1]
    const css = this.language === 'css'
    if (c === '/' && next === '*') this.blockComment()
    else if (c === '/' && next === '/' && !css) this.lineComment()
    else if (c === '"' || c === "'") this.quoted(c)
    else if (c === '`' && this.language === 'go') this.rawString()
    else if (c === '`') this.template()
    else if (
      c === '/' &&
      this.language === 'js' &&
      BEFORE_REGEX.test(this.source.slice(Math.max(0, this.at - 40), this.at))
    )
      this.regex()
    else this.at++
  }
}

/**
 * The comments and strings of a source text in order.
 * @param {string} source
 * @param {'go' | 'js' | 'css'} language
 * @returns {{kind: 'comment' | 'string', line: number, text: string, tag?: string, raw?: boolean, alone?: boolean}[]}
 */
export function lex(source, language) {
  const reader = new Reader(source, language)
  reader.code()
  return reader.tokens.sort((a, b) => a.line - b.line)
}
