// Usage: strip-names.mjs FILE. Removes the custom sections of a module. They contain the names of its functions. They
// are a tenth of its size and are not needed to run it. Stack traces of traps then have indexes instead of names. A
// build without this step has names. Format: https://webassembly.github.io/spec/core/binary/modules.html
import { readFileSync, writeFileSync } from 'node:fs'

const CUSTOM_SECTION = 0
const HEADER_BYTES = 8

const file = process.argv[2]
const module = readFileSync(file)
const kept = [module.subarray(0, HEADER_BYTES)]
for (let at = HEADER_BYTES; at < module.length; ) {
  const start = at
  const id = module[at++]
  let length = 0
  for (let factor = 1; ; factor *= 128) {
    const byte = module[at++]
    length += (byte & 127) * factor
    if (byte < 128) break
  }
  at += length
  if (id !== CUSTOM_SECTION) kept.push(module.subarray(start, at))
}
writeFileSync(file, Buffer.concat(kept))
