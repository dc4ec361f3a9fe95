// The primitives of the wire between the core and this host. core/abi/wire.schema explains these types, and abi.ts
// has the messages.

export type Bytes = Uint8Array<ArrayBuffer>

/** Header fields as [name, value, name, value, …]. A single array is faster than one array per field. */
export type Headers = string[]

export const NO_BYTES: Bytes = new Uint8Array(0)
export const NO_HEADERS: Headers = []

/** The only decoding error: the bytes are not a message that core/abi can write. */
export class MalformedError extends Error {
  constructor() {
    super('abi: malformed message')
  }
}

// Measured: up to these lengths, a loop is faster than TextEncoder and TextDecoder.
const SHORT_DECODE = 16
const SHORT_ENCODE = 48
const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true })
const encoder = new TextEncoder()

/** Decodes values from bytes between pos and end. */
export class Reader {
  private bytes: Uint8Array = NO_BYTES
  private pos = 0
  private limit = 0

  /** Starts to read a message. One reader can read any number of messages, one after the other. */
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

  // Multiplies and does not shift, because shifts truncate to 32 bits.
  private longUint(): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < 8 && this.pos < this.limit; i++) {
      const byte = this.bytes[this.pos++] as number
      value += (byte & 0x7f) * scale
      if (byte < 0x80) {
        // Every value has exactly one form, so an encoding that is longer than necessary is malformed.
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

  /** Reads an enum. */
  byte(): number {
    const value = this.uint()
    if (value > 255) throw new MalformedError()
    return value
  }

  /** Returns part of the message without copying it. It is in wasm memory, and the next call overwrites it. */
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

  // Decodes all fields, with the lengths between them, as a single text and then slices that text. This is many times
  // faster than decoding each field. If the text has as many characters as bytes, it is ASCII, and the offsets are
  // the same.
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

/** Encodes values into its own buffer, which grows and is reused for the next message, or into given bytes. */
export class Writer {
  bytes: Bytes = new Uint8Array(4096)
  length = 0

  clear(): this {
    this.length = 0
    return this
  }

  /** Starts to write at an index of bytes. Without room for the message, the writer continues in its own buffer. */
  into(bytes: Bytes, start: number): this {
    this.bytes = bytes
    this.length = start
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
    // The length precedes the text but is known only after it. This reserves room for the length that an ASCII text
    // would have. In the rare case that the length needs more room, the bytes are moved.
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
