// wrangler's output, with the Workers' log lines as the Workers wrote them.
import { stripVTControlCharacters } from 'node:util'

/** A Worker's name in brackets, or a mark of severity, before one line of JSON. */
const LOG_LINE = /^(?:\[[\w-]+\]|\S+ \[(?:ERROR|WARNING)\]) (\{.*\})$/
/** wrangler's prefix for a Worker whose name it does not know, though the configuration has one. */
const NO_NAME = '[undefined] '

/** Makes a stream's lines clean, one after the other. */
export class Cleaner {
  #afterLog = false

  /** The line to show, without its end, or undefined if there is nothing to show. */
  clean(line) {
    // wrangler sets errors off with empty lines.
    if (this.#afterLog && line.trim() === '') return undefined
    const plain = stripVTControlCharacters(line)
    const [, json] = LOG_LINE.exec(plain) ?? []
    this.#afterLog = json !== undefined
    if (json !== undefined) return json
    return plain.startsWith(NO_NAME) ? plain.slice(NO_NAME.length) : line
  }
}

/**
 * wrangler's output: held back until we have said where everything is, or shown all at once when it fails. Of its
 * start there is too much to find that in.
 */
export class Output {
  #held = []
  #shown = false
  #ready = Promise.withResolvers()
  #readyText

  constructor(streams, readyText) {
    this.#readyText = readyText
    for (const stream of streams) this.#read(stream)
  }

  /** Resolves when wrangler says that it is ready. */
  get ready() {
    return this.#ready.promise
  }

  #read(stream) {
    const cleaner = new Cleaner()
    const take = (line) => this.#take(cleaner.clean(line))
    let rest = ''
    stream.setEncoding('utf8').on('data', (chunk) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop()
      for (const line of lines) take(line)
    })
    stream.on('end', () => {
      if (rest !== '') take(rest)
    })
  }

  #take(line) {
    if (line === undefined) return
    if (this.#shown) process.stdout.write(`${line}\n`)
    else this.#held.push(line)
    if (line.includes(this.#readyText)) this.#ready.resolve()
  }

  /** Shows what comes from now on, and what has come if that matters. */
  show({ all = false } = {}) {
    this.#shown = true
    if (all) process.stderr.write(this.#held.map((line) => `${line}\n`).join(''))
    this.#held = []
  }
}
