// Usage: check-wasm.mjs FILE. Checks that the core imports nothing and exports its contract.
import { readFileSync } from 'node:fs'

const allowedImports = []
const neededExports = ['_initialize', 'abi_version', 'apply', 'configure', 'memory', 'reads', 'reserve', 'step']

const file = process.argv[2]
const module = new WebAssembly.Module(readFileSync(file))
const problems = []
for (const { module: from, name } of WebAssembly.Module.imports(module)) {
  if (!allowedImports.includes(`${from}.${name}`)) problems.push(`imports ${from}.${name}, which is not allowed`)
}
const exported = WebAssembly.Module.exports(module).map((e) => e.name)
for (const name of neededExports) {
  if (!exported.includes(name)) problems.push(`does not export ${name}`)
}
for (const problem of problems) console.error(`${file} ${problem}`)
process.exit(problems.length ? 1 : 0)
