// Prints the sizes of the built modules, raw and gzipped.
import { existsSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

for (const [name, file] of [
  ['core.wasm', 'build/core.wasm'],
  ['gateway Worker (JavaScript)', 'build/gateway/index.js'],
  ['control Worker (wasm)', 'build/control/app.wasm'],
  ['self-hosted server', 'build/postern'],
]) {
  if (!existsSync(file)) continue
  const binary = readFileSync(file)
  const kib = (n) => `${(n / 1024).toFixed(1)} KiB`.padStart(12)
  console.log(`${name.padEnd(28)}${kib(binary.length)}${kib(gzipSync(binary, { level: 9 }).length)} gzip`)
}
