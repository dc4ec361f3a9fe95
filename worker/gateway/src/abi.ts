// The wire between the core and this host: a mirror of the half of core/abi that a host needs. Both are tested against
// the vectors in testdata/abi/.
//
// The codec has two forms. A number is an unsigned LEB128 varint. A byte string or text is its length as a number,
// followed by its bytes. Everything else is a sequence of the two. Numbers sent to a host are below 2^53, so that
// JavaScript reads them exactly. Money is never sent as a number: it stays inside rows and commands, which hosts do not
// decode.

/** The version of the layouts, compared with the core's at start. */
export const ABI_VERSION = 8

export const EVENT_REQUEST = 1
export const EVENT_BODY = 2
export const EVENT_SUPPLIED = 3
export const EVENT_STORED = 4
export const EVENT_REPLY = 5
export const EVENT_RESPONSE = 6
export const EVENT_FAULT = 7
export const EVENT_TIMER = 8
export const EVENT_DISCONNECT = 9
export const EVENT_HEAD = 10
export const EVENT_CHUNK = 11
export const EVENT_END = 12
export const EVENT_FLIGHT = 13

export const OUTCOME_OK = 0
export const OUTCOME_ABSENT = 1
export const OUTCOME_FAILED = 2
export const OUTCOME_TOO_LARGE = 3
export const OUTCOME_OVERLOADED = 4
export const OUTCOME_UNSUPPORTED = 5
export const OUTCOME_JOINED = 6

export const FLIGHT_MORE = 0
export const FLIGHT_FAILED = 2

/** The lowest HTTP status of a failed fetch. */
export const FAILED_STATUS = 400

export const FAULT_CONNECT = 1
export const FAULT_HEAD = 2
export const FAULT_FIRST_BYTE = 3
export const FAULT_IDLE = 4
export const FAULT_TOTAL = 5
export const FAULT_BROKEN = 6
export const FAULT_TOO_LARGE = 7
export const FAULT_UNDELIVERED = 8

export const ACTION_READ_BODY = 1
export const ACTION_SUPPLY = 2
export const ACTION_KEEP = 3
export const ACTION_READ = 4
export const ACTION_WRITE = 5
export const ACTION_CALL = 6
export const ACTION_FETCH = 7
export const ACTION_RESPOND = 8
export const ACTION_WAIT = 9
export const ACTION_CANCEL = 10
export const ACTION_LOG = 11
export const ACTION_FORWARD = 12
export const ACTION_OPEN = 13
export const ACTION_SEND = 14
export const ACTION_CLOSE = 15
export const ACTION_APPEND = 16
export const ACTION_UNSEAL = 17
export const ACTION_PIN = 18
export const ACTION_JOIN = 19
export const ACTION_FOLLOW = 20
export const ACTION_PUBLISH = 21
export const ACTION_LAND = 22
export const ACTION_PAUSE = 23
export const ACTION_RESUME = 24

export const UNSEAL_NONCE_BYTES = 12
export const UNSEAL_TAG_BYTES = 16

/** The buffer whose content every step gets. */
export const ATTACHED_BUFFER = 8

export const WHERE_MEMORY = 1
export const WHERE_KV = 2
export const WHERE_COLO = 4

/** The header that passes the client's address to the control plane. The host sets or removes it. */
export const ADDRESS_HEADER = 'x-postern-address'

export const CLASS_KV = 0
export const CLASS_KEY_METER = 1
export const CLASS_LEDGER = 2
export const CLASS_DIRECTORY = 3

export const OUTBOX_PREFIX = 'o/'
export const OUTBOX_END = 'o0'
export const REDELIVER_MS = 2000

export const OP_POSTED = 0x7f
export const POST_TIMEOUT_MS = 10_000
export const POSTS_AT_ONCE = 16

export type Bytes = Uint8Array<ArrayBuffer>

/** Header fields as [name, value, name, value, …]: a single array is faster than one per field. */
export type Headers = string[]

export interface Event {
  kind: number
  id: number
  code: number
  headers: Headers
  data: Bytes
}

/** A part of a body: data in the core's memory, or the content of a buffer if its number is not 0. */
export interface Part {
  buffer: number
  data: Bytes
}

export interface Row {
  key: string
  value: Bytes
}

export interface Range {
  start: string
  end: string
  limit: number
}

/** shared, pinned, state and the parts of bodies are in the core's memory: their users copy them before the next call, and let go of them. */
export interface StepOutput {
  /** Set only if it changed. */
  shared: Bytes | undefined
  /** Set only if it changed; kept for pinnedKeepMs. */
  pinned: Bytes | undefined
  pinnedKeepMs: number
  state: Bytes
  actions: Action[]
}

export interface ObjectInput {
  nowMs: number
  class: number
  name: string
  command: Bytes
  round: number
  rows: Row[]
}

export interface ObjectOutput {
  ranges: Range[]
  puts: Row[]
  deletes: string[]
  reply: Bytes
  alarmMs: number
  deliver: boolean
  posts: Post[]
}

/** An HTTP POST requested by an object; see core/abi/post.go. */
export interface Post {
  id: string
  url: string
  headers: Headers
  body: Bytes
}

export interface Delivery {
  class: number
  name: string
  region: string
  data: Bytes
}

export interface Configured {
  version: number
  error: string
  requestHeaders: string[]
  responseHeaders: string[]
  memoryBytes: number
  memoryEntryBytes: number
  memoryOverheadBytes: number
  pinnedEntries: number
  kvCacheSeconds: number
  lastResortStatus: number
  lastResortHeaders: Headers
  lastResortBody: [Bytes, Bytes]
}

export const NO_BYTES: Bytes = new Uint8Array(0)
const NO_HEADERS: Headers = []
const NO_PARTS: Part[] = []
const NO_POSTS: Post[] = []

/** An action for the host. core/abi/action.go documents the fields of each kind. */
export class Action {
  // All fields are always set in this order, so that every action has the same hidden class.
  kind = 0
  id = 0
  buffer = 0
  limit = 0
  data = NO_BYTES
  key = ''
  where = 0
  keepMs = 0
  ttlSeconds = 0
  class = 0
  name = ''
  region = ''
  method = ''
  url = ''
  code = 0
  headers = NO_HEADERS
  body = NO_PARTS
  headMs = 0
  firstByteMs = 0
  idleMs = 0
  totalMs = 0
  /** The response status whose body is streamed; 0 for none. */
  stream = 0
}

/** The only decoding error: the bytes are not a message that core/abi writes. */
export class MalformedError extends Error {
  constructor() {
    super('abi: malformed message')
  }
}

// Measured: up to these lengths a loop is faster than TextEncoder and TextDecoder.
const SHORT_DECODE = 16
const SHORT_ENCODE = 48
const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true })
const encoder = new TextEncoder()

/** Decodes values from bytes between pos and end. */
export class Reader {
  private bytes: Uint8Array = NO_BYTES
  private pos = 0
  private limit = 0

  /** Opens a message, so that one reader serves every call. */
  open(bytes: Uint8Array, start: number, length: number): this {
    if (start + length > bytes.length) throw new MalformedError()
    this.bytes = bytes
    this.pos = start
    this.limit = start + length
    return this
  }

  uint(): number {
    if (this.pos < this.limit) {
      const first = this.bytes[this.pos] as number
      if (first < 0x80) {
        this.pos++
        return first
      }
    }
    return this.longUint()
  }

  // Multiplies instead of shifting, because shifts truncate to 32 bits.
  private longUint(): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < 8 && this.pos < this.limit; i++) {
      const byte = this.bytes[this.pos++] as number
      value += (byte & 0x7f) * scale
      if (byte < 0x80) {
        // An encoding longer than needed is malformed: every value has one form.
        if ((byte === 0 && i > 0) || value > Number.MAX_SAFE_INTEGER) break
        return value
      }
      scale *= 128
    }
    throw new MalformedError()
  }

  bool(): boolean {
    const value = this.uint()
    if (value > 1) throw new MalformedError()
    return value === 1
  }

  /** Returns a part of the message, which is in wasm memory: the next call overwrites it. */
  view(): Bytes {
    const length = this.span()
    return this.bytes.subarray(this.pos - length, this.pos) as Bytes
  }

  /** Returns a copy. */
  data(): Bytes {
    const length = this.span()
    if (length === 0) return NO_BYTES
    return this.bytes.slice(this.pos - length, this.pos) as Bytes
  }

  text(): string {
    const length = this.span()
    const start = this.pos - length
    if (length <= SHORT_DECODE) {
      const text = ascii(this.bytes, start, this.pos)
      if (text !== undefined) return text
    }
    return decoder.decode(this.bytes.subarray(start, this.pos))
  }

  /** Reads the length of a list whose elements each take at least one byte. */
  count(): number {
    const count = this.uint()
    if (count > this.limit - this.pos) throw new MalformedError()
    return count
  }

  headers(): Headers {
    const count = this.count()
    if (count === 0) return NO_HEADERS
    const start = this.pos
    for (let i = 0; i < count; i++) {
      this.span()
      this.span()
    }
    return this.fields(start, count)
  }

  // Decodes all fields and the lengths between them as a single text, then slices it, which is many times faster than
  // decoding each text. If the text has as many characters as bytes, it is ASCII and the offsets are the same.
  private fields(start: number, count: number): Headers {
    const block = decoder.decode(this.bytes.subarray(start, this.pos))
    const single = block.length === this.pos - start
    this.pos = start
    const headers: Headers = []
    for (let i = 0; i < count * 2; i++) {
      if (single) {
        const length = this.span()
        headers.push(block.substring(this.pos - length - start, this.pos - start))
      } else {
        headers.push(this.text())
      }
    }
    return headers
  }

  texts(): string[] {
    const texts: string[] = []
    for (let n = this.count(); n > 0; n--) texts.push(this.text())
    return texts
  }

  end(): void {
    if (this.pos !== this.limit) throw new MalformedError()
  }

  // Skips a length and that many bytes.
  private span(): number {
    const length = this.uint()
    if (length > this.limit - this.pos) throw new MalformedError()
    this.pos += length
    return length
  }
}

function ascii(bytes: Uint8Array, start: number, end: number): string | undefined {
  let text = ''
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number
    if (byte > 0x7f) return undefined
    text += String.fromCharCode(byte)
  }
  return text
}

/** Encodes values into its own buffer, which grows and is reused for the next message. */
export class Writer {
  bytes: Bytes = new Uint8Array(4096)
  length = 0

  clear(): this {
    this.length = 0
    return this
  }

  /** The bytes written since the last clear. */
  written(): Bytes {
    return this.bytes.subarray(0, this.length)
  }

  uint(value: number): void {
    this.room(8)
    let rest = value
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.bytes[this.length++] = rest
  }

  data(value: Uint8Array): void {
    this.uint(value.length)
    this.room(value.length)
    this.bytes.set(value, this.length)
    this.length += value.length
  }

  text(value: string): void {
    const units = value.length
    this.room(units * 3 + 8)
    if (units <= SHORT_ENCODE && this.asciiText(value)) return
    // The length comes first but is known only afterwards. Reserve room for the length of an ASCII text, and move the
    // bytes in the rare case that it takes more.
    const guess = uintSize(units)
    const start = this.length + guess
    const { written } = encoder.encodeInto(value, this.bytes.subarray(start))
    const size = uintSize(written)
    if (size !== guess) this.bytes.copyWithin(this.length + size, start, start + written)
    this.uint(written)
    this.length += written
  }

  headers(headers: Headers): void {
    this.uint(headers.length / 2)
    for (const text of headers) this.text(text)
  }

  private asciiText(value: string): boolean {
    const start = this.length
    this.bytes[start] = value.length
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i)
      if (unit > 0x7f) return false
      this.bytes[start + 1 + i] = unit
    }
    this.length = start + 1 + value.length
    return true
  }

  private room(more: number): void {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2))
    grown.set(this.written())
    this.bytes = grown
  }
}

function uintSize(value: number): number {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

/**
 * Encodes a step's input except the event's data, which comes last and can be large: the caller copies it directly
 * behind.
 */
export function writeStepInput(
  w: Writer,
  nowMs: number,
  shared: Bytes,
  state: Bytes,
  attached: Bytes,
  pinned: Bytes,
  waiting: number,
  event: Event,
): void {
  w.uint(nowMs)
  w.data(shared)
  w.data(state)
  w.data(attached)
  w.data(pinned)
  w.uint(waiting)
  w.uint(event.kind)
  w.uint(event.id)
  w.uint(event.code)
  w.headers(event.headers)
  w.uint(event.data.length)
}

export function writeObjectInput(w: Writer, input: ObjectInput): void {
  w.uint(input.nowMs)
  w.uint(input.class)
  w.text(input.name)
  w.data(input.command)
  w.uint(input.round)
  w.uint(input.rows.length)
  for (const row of input.rows) {
    w.text(row.key)
    w.data(row.value)
  }
}

/** The command that reports the result of a Post to its object; status 0 means no response. */
export function writePosted(w: Writer, id: string, status: number): void {
  w.uint(OP_POSTED)
  w.text(id)
  w.uint(status)
}

/** Encodes the configuration: the catalog, and the deployment's variables and secrets. */
export function writeConfig(w: Writer, catalog: Bytes, env: Headers): void {
  w.data(catalog)
  w.headers(env)
}

export function readStepOutput(r: Reader): StepOutput {
  const shared = r.bool() ? r.view() : undefined
  const pinned = r.bool() ? r.view() : undefined
  const pinnedKeepMs = pinned === undefined ? 0 : r.uint()
  const state = r.view()
  const actions: Action[] = []
  for (let n = r.count(); n > 0; n--) actions.push(readAction(r))
  r.end()
  return { shared, pinned, pinnedKeepMs, state, actions }
}

function readAction(r: Reader): Action {
  const a = new Action()
  a.kind = r.uint()
  a.id = r.uint()
  switch (a.kind) {
    case ACTION_READ_BODY:
      a.buffer = r.uint()
      a.limit = r.uint()
      break
    case ACTION_SUPPLY:
      a.buffer = r.uint()
      break
    case ACTION_KEEP:
    case ACTION_APPEND:
      a.buffer = r.uint()
      a.data = r.data()
      break
    case ACTION_READ:
      a.key = r.text()
      a.where = r.uint()
      a.keepMs = r.uint()
      a.limit = r.uint()
      break
    case ACTION_WRITE:
      a.key = r.text()
      a.where = r.uint()
      a.keepMs = r.uint()
      a.ttlSeconds = r.uint()
      a.body = readParts(r)
      break
    case ACTION_CALL:
      a.class = r.uint()
      a.name = r.text()
      a.region = r.text()
      a.data = r.data()
      break
    case ACTION_FETCH:
      readFetch(r, a)
      break
    case ACTION_RESPOND:
      a.code = r.uint()
      a.headers = r.headers()
      a.body = readParts(r)
      break
    case ACTION_FORWARD:
      a.headers = r.headers()
      break
    case ACTION_WAIT:
      a.keepMs = r.uint()
      break
    case ACTION_UNSEAL:
      a.buffer = r.uint()
      a.key = r.text()
      a.name = r.text()
      break
    case ACTION_PIN:
      a.key = r.text()
      break
    case ACTION_CANCEL:
    case ACTION_CLOSE:
    case ACTION_FOLLOW:
    case ACTION_PAUSE:
    case ACTION_RESUME:
      break
    case ACTION_JOIN:
      a.key = r.text()
      a.name = r.text()
      break
    case ACTION_PUBLISH:
      a.buffer = r.uint()
      a.limit = r.uint()
      a.body = readParts(r)
      break
    case ACTION_OPEN:
      a.code = r.uint()
      a.headers = r.headers()
      a.data = r.data()
      break
    case ACTION_SEND:
      a.body = readParts(r)
      break
    case ACTION_LAND:
      a.code = r.uint()
      a.data = r.data()
      break
    case ACTION_LOG:
      a.code = r.uint()
      a.data = r.view() // decoded before the next call
      break
    default:
      throw new MalformedError()
  }
  return a
}

function readFetch(r: Reader, a: Action): void {
  a.buffer = r.uint()
  a.limit = r.uint()
  a.method = r.text()
  a.url = r.text()
  a.headers = r.headers()
  a.headMs = r.uint()
  a.firstByteMs = r.uint()
  a.idleMs = r.uint()
  a.totalMs = r.uint()
  a.stream = r.uint()
  a.body = readParts(r)
}

function readParts(r: Reader): Part[] {
  const count = r.count()
  if (count === 0) return NO_PARTS
  const parts: Part[] = []
  for (let i = 0; i < count; i++) {
    const buffer = r.uint()
    parts.push({ buffer, data: buffer === 0 ? r.view() : NO_BYTES })
  }
  return parts
}

export function readObjectOutput(r: Reader): ObjectOutput {
  const ranges: Range[] = []
  for (let n = r.count(); n > 0; n--) ranges.push({ start: r.text(), end: r.text(), limit: r.uint() })
  const puts: Row[] = []
  for (let n = r.count(); n > 0; n--) puts.push({ key: r.text(), value: r.data() })
  const deletes = r.texts()
  const out = { ranges, puts, deletes, reply: r.data(), alarmMs: r.uint(), deliver: r.bool(), posts: readPosts(r) }
  r.end()
  return out
}

function readPosts(r: Reader): Post[] {
  const count = r.count()
  if (count === 0) return NO_POSTS
  const posts: Post[] = []
  for (let i = 0; i < count; i++) posts.push({ id: r.text(), url: r.text(), headers: r.headers(), body: r.data() })
  return posts
}

export function readConfigured(r: Reader): Configured {
  const out: Configured = {
    version: r.uint(),
    error: r.text(),
    requestHeaders: r.texts(),
    responseHeaders: r.texts(),
    memoryBytes: r.uint(),
    memoryEntryBytes: r.uint(),
    memoryOverheadBytes: r.uint(),
    pinnedEntries: r.uint(),
    kvCacheSeconds: r.uint(),
    lastResortStatus: r.uint(),
    lastResortHeaders: r.headers(),
    lastResortBody: [r.data(), r.data()],
  }
  r.end()
  return out
}

export function readDelivery(bytes: Uint8Array): Delivery {
  const r = new Reader().open(bytes, 0, bytes.length)
  const delivery = { class: r.uint(), name: r.text(), region: r.text(), data: r.data() }
  r.end()
  return delivery
}
