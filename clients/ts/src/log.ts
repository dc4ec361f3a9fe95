// Log records, written as JSON lines, in a readable form, or passed to the caller's function. They never contain the
// API key.

/** The level of a log record, from the most to the least verbose. `off` turns the log off. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'off'

/** A log record. Its other fields depend on `msg`; docs/clients/errors.md lists them. */
export interface LogRecord {
  /** ISO 8601, in UTC. */
  time: string
  level: Exclude<LogLevel, 'off'>
  /** What happened: `request`, `response`, `retry`, `request_failed`, … */
  msg: string
  [field: string]: unknown
}

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'off']
const MAX_REMEMBERED = 100

/** Writes records, except those below a level. */
export class Log {
  /** Whether the bodies of requests and responses are logged, at debug. */
  readonly content: boolean
  readonly #level: number
  readonly #write: (record: LogRecord) => void
  readonly #said = new Set<string>()

  constructor(options: { level: LogLevel; pretty: boolean; content: boolean; logger?: (record: LogRecord) => void }) {
    this.#level = LOG_LEVELS.indexOf(options.level)
    this.content = options.content && options.level === 'debug'
    const line = options.pretty ? prettyLine : JSON.stringify
    this.#write = options.logger ?? ((record) => console.error(line(record)))
  }

  write(level: LogRecord['level'], msg: string, fields: Record<string, unknown>): void {
    if (LOG_LEVELS.indexOf(level) < this.#level) return
    try {
      this.#write({ time: new Date().toISOString(), level, msg, ...fields })
    } catch {
      // If the logger fails, the call must still succeed.
    }
  }

  /**
   * Writes a record unless an equal one was written before. For example, every response repeats that a model is
   * deprecated.
   */
  once(level: LogRecord['level'], msg: string, fields: Record<string, unknown>): void {
    const key = JSON.stringify([msg, fields])
    if (this.#said.has(key) || this.#said.size >= MAX_REMEMBERED) return
    this.#said.add(key)
    this.write(level, msg, fields)
  }
}

/** `12:00:00.000 WARN dropped_params params=temperature` */
function prettyLine({ time, level, msg, ...fields }: LogRecord): string {
  const words = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${word(value)}`)
  return [time.slice(11, 23), level.toUpperCase(), msg, ...words].join(' ')
}

function word(value: unknown): string {
  if (Array.isArray(value)) return value.map(word).join(',')
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // Quotes keep a value on one line and separate from the next field.
  return /^[^\s"]+$/.test(text) || typeof value !== 'string' ? text : JSON.stringify(text)
}
