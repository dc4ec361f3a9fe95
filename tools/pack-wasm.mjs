// Usage: pack-wasm.mjs FILE. Rewrites the data of a module linked by Go.
//
// Go's linker leaves out every run of zeros and starts a new data segment after it. A module therefore has tens of
// thousands of segments. Their addresses do not compress, but zeros do. Segments with a short gap between them are
// therefore merged, including the zeros. Memory is zero before the segments are copied, so the module's initial
// memory stays the same. Format: https://webassembly.github.io/spec/core/binary/modules.html
import { readFileSync, writeFileSync } from 'node:fs'

const DATA_SECTION = 11
const HEADER_BYTES = 8
const MAX_GAP_BYTES = 4096
const [I32_CONST, END] = [0x41, 0x0b]

class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  byte(expected) {
    const byte = this.bytes[this.at++]
    if (byte === undefined || (expected !== undefined && byte !== expected)) {
      throw new Error(`unexpected byte ${byte} at ${this.at - 1}`)
    }
    return byte
  }

  take(length) {
    const start = this.at
    this.at += length
    if (this.at > this.bytes.length) throw new Error('unexpected end')
    return this.bytes.subarray(start, this.at)
  }

  // LEB128 of at most 32 bits.
  unsigned() {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte()
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }
}

function unsigned(value) {
  const bytes = []
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128)
  return Buffer.from([...bytes, value])
}

// The sign is the second highest bit of the last byte.
function signed(value) {
  const bytes = []
  for (; value >= 64; value = Math.floor(value / 128)) bytes.push((value % 128) | 128)
  return Buffer.from([...bytes, value])
}

/**
 * Returns the module with its data segments merged. Throws if it has segments of a kind that Go's linker does not
 * write.
 */
export function pack(module) {
  const reader = new Reader(module, HEADER_BYTES)
  const parts = [module.subarray(0, HEADER_BYTES)]
  while (reader.at < module.length) {
    const start = reader.at
    const id = reader.byte()
    const content = reader.take(reader.unsigned())
    if (id !== DATA_SECTION) {
      parts.push(module.subarray(start, reader.at))
      continue
    }
    const section = encode(merge(segments(content)))
    parts.push(Buffer.from([id]), unsigned(section.length), section)
  }
  return Buffer.concat(parts)
}

function segments(content) {
  const reader = new Reader(content)
  return Array.from({ length: reader.unsigned() }, () => {
    reader.byte(0) // active, in memory 0
    reader.byte(I32_CONST)
    const start = reader.unsigned()
    reader.byte(END)
    return { start, data: reader.take(reader.unsigned()) }
  })
}

function merge(all) {
  const merged = []
  let end = Number.NEGATIVE_INFINITY
  for (const { start, data } of all.toSorted((a, b) => a.start - b.start)) {
    if (start < end) throw new Error('data segments overlap')
    if (start - end > MAX_GAP_BYTES) merged.push({ start, pieces: [] })
    else merged.at(-1).pieces.push(Buffer.alloc(start - end))
    merged.at(-1).pieces.push(data)
    end = start + data.length
  }
  return merged.map(({ start, pieces }) => ({ start, data: Buffer.concat(pieces) }))
}

function encode(all) {
  const head = ({ start, data }) => [
    Buffer.from([0, I32_CONST]),
    signed(start),
    Buffer.from([END]),
    unsigned(data.length),
  ]
  return Buffer.concat([unsigned(all.length), ...all.flatMap((segment) => [...head(segment), segment.data])])
}

if (process.argv[1] === import.meta.filename) {
  const file = process.argv[2]
  writeFileSync(file, pack(readFileSync(file)))
}
