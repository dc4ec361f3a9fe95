import type { Headers as Fields } from './abi.ts'

/** Returns the header fields with the given names in the form of the wire. */
export function pick(headers: Headers, names: string[]): Fields {
  const fields: Fields = []
  for (const name of names) {
    const value = headers.get(name)
    if (value !== null) fields.push(name, value)
  }
  return fields
}

/** Converts header fields from the form of the wire to the platform's form. Repeated names stay repeated. */
export function httpHeaders(fields: Fields): HeadersInit {
  // Measured: a record is faster than a Headers object.
  const record: Record<string, string> = {}
  for (let i = 0; i < fields.length; i += 2) {
    if (isRepeated(fields, i)) return repeatedHeaders(fields)
    record[fields[i] as string] = fields[i + 1] as string
  }
  return record
}

// Compares with the few names before it. Measured: a lookup in the record takes longer, because V8 first has to
// intern the name.
function isRepeated(fields: Fields, at: number): boolean {
  for (let i = 0; i < at; i += 2) if (fields[i] === fields[at]) return true
  return false
}

function repeatedHeaders(fields: Fields): Headers {
  const headers = new Headers()
  for (let i = 0; i < fields.length; i += 2) headers.append(fields[i] as string, fields[i + 1] as string)
  return headers
}
