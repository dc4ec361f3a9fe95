// Fails if a Linux binary needs a dynamic linker or libraries: node tools/check-static.mjs FILE
// Format: https://refspecs.linuxfoundation.org/elf/elf.pdf, program headers of 64-bit files.
import { readFileSync } from 'node:fs'

const PT_DYNAMIC = 2
const PT_INTERP = 3

const file = process.argv[2]
const elf = readFileSync(file)
if (elf.readUInt32BE(0) !== 0x7f454c46) process.exit(0) // not for Linux
if (elf[4] !== 2 || elf[5] !== 1) throw new Error(`${file}: expected a 64-bit little-endian binary`)
const [offset, size, count] = [Number(elf.readBigUInt64LE(32)), elf.readUInt16LE(54), elf.readUInt16LE(56)]
for (let i = 0; i < count; i++) {
  const type = elf.readUInt32LE(offset + i * size)
  if (type === PT_DYNAMIC || type === PT_INTERP) {
    console.error(`check-static: ${file} is not static`)
    process.exit(1)
  }
}
