// Usage: check-wasm.mjs FILE LIMIT. Checks that the core imports nothing, exports its contract, and is at most LIMIT
// bytes gzipped.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const allowedImports = []
const neededExports = ['_initialize', 'abi_version', 'apply', 'configure', 'memory', 'reads', 'reserve', 'step']

const [file, limit] = process.argv.slice(2)
const binary = readFileSync(file)
const module = new WebAssembly.Module(binary)
const problems = []
for (const { module: from, name } of WebAssembly.Module.imports(module)) {
  if (!allowedImports.includes(`${from}.${name}`)) problems.push(`imports ${from}.${name}, which is not allowed`)
}
const exported = WebAssembly.Module.exports(module).map((e) => e.name)
for (const name of neededExports) {
  if (!exported.includes(name)) problems.push(`does not export ${name}`)
}
const gzipped = gzipSync(binary, { level: 9 }).length
if (gzipped > Number(limit)) problems.push(`is ${gzipped} bytes gzipped, more than ${limit}`)
console.error(
  `${file.replace(/\.new$/, '')}: ${binary.length} bytes, ${gzipped} gzipped, imports: ${WebAssembly.Module.imports(module).length}`,
)
for (const problem of problems) console.error(`${file} ${problem}`)
process.exit(problems.length ? 1 : 0)
