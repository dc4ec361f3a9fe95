// wrangler's output, with the Workers' log lines stripped of wrangler's decoration.
import { stripVTControlCharacters } from 'node:util'

/** A line of JSON after a Worker's name in brackets or a severity label. */
const LOG_LINE = /^(?:\[[\w-]+\]|\S+ \[(?:ERROR|WARNING)\]) (\{.*\})$/
/** wrangler's prefix for a Worker whose name it failed to look up. */
const NO_NAME = '[undefined] '

/** The message of a Worker's log line about its configuration, or undefined. level is "error" or "warning". */
function aboutConfiguration(line, level) {
  if (!line.includes('"code":"misconfigured"')) return undefined
  try {
    const logged = JSON.parse(line)
    return logged.level === level ? logged.message : undefined
  } catch {
    return undefined
  }
}

/** Cleans the lines of one stream. */
export class Cleaner {
  #afterLog = false

  /** Returns the line to show, without its line break, or undefined to skip it. */
  clean(line) {
    // wrangler puts an empty line after errors.
    if (this.#afterLog && line.trim() === '') return undefined
    const plain = stripVTControlCharacters(line)
    const [, json] = LOG_LINE.exec(plain) ?? []
    this.#afterLog = json !== undefined
    if (json !== undefined) return json
    return plain.startsWith(NO_NAME) ? plain.slice(NO_NAME.length) : line
  }
}

/**
 * wrangler's output, held back during startup because wrangler prints so much that the welcome message would be lost
 * in it. If the start fails, everything is shown.
 */
export class Output {
  #held = []
  #shown = false
  #ready = Promise.withResolvers()
  #misconfigured = Promise.withResolvers()
  #readyText

  constructor(streams, readyText) {
    this.#readyText = readyText
    for (const stream of streams) this.#read(stream)
  }

  /** Resolves when wrangler reports that it is ready. */
  get ready() {
    return this.#ready.promise
  }

  /** Resolves with the problem when the gateway rejects its configuration. */
  get misconfigured() {
    return this.#misconfigured.promise
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
    const problem = aboutConfiguration(line, 'error')
    if (problem !== undefined) this.#misconfigured.resolve(problem)
  }

  /**
   * Shows output from now on. Standard error receives either all output held back so far, or only the Workers'
   * warnings about their configuration, each warning once.
   */
  show({ all = false } = {}) {
    this.#shown = true
    const warnings = this.#held.map((line) => aboutConfiguration(line, 'warning')).filter(Boolean)
    const lines = all ? this.#held : new Set(warnings.map((message) => `dev: warning: ${message}`))
    for (const line of lines) process.stderr.write(`${line}\n`)
    this.#held = []
  }

  /** Drops the output held back so far. */
  drop() {
    this.#held = []
  }
}
