// Usage: packages.mjs FILE. Prints how many functions of each Go package a module contains, and the size of their code,
// raw and gzipped. The module must contain names: link it with -ldflags=-w.
// Format: https://webassembly.github.io/spec/core/binary/modules.html, and its appendix for the section "name"
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const [CUSTOM, IMPORTS, CODE] = [0, 2, 10]
const FUNCTION_NAMES = 1

const module = readFileSync(process.argv[2])
let at = 8

function unsigned() {
  let value = 0
  for (let factor = 1; ; factor *= 128) {
    const byte = module[at++]
    value += (byte & 127) * factor
    if (byte < 128) return value
  }
}

function bytes() {
  const length = unsigned()
  at += length
  return module.subarray(at - length, at)
}

/** Returns the start of each section, by ID or by the name of a custom section. */
function sections() {
  const found = {}
  while (at < module.length) {
    const id = module[at++]
    const end = unsigned() + at
    if (id === CUSTOM) found[bytes()] = [at, end]
    else found[id] = [at, end]
    at = end
  }
  return found
}

const { [IMPORTS]: imports, [CODE]: code, name: names } = sections()
if (names === undefined) throw new Error('the module has no names; link it with -ldflags=-w')

// Go's modules import only functions. In the index space, imports come before the module's own functions.
at = imports[0]
const imported = unsigned()

function functionNames() {
  const found = new Map()
  for (at = names[0]; at < names[1]; ) {
    const id = module[at++]
    const end = unsigned() + at
    for (let n = id === FUNCTION_NAMES ? unsigned() : 0; n > 0; n--) found.set(unsigned(), bytes().toString())
    at = end
  }
  return found
}

// The linker replaces slashes with underscores. The first dot after a domain ends the package.
const packageOf = (name) => /^(?:\w+\.(?:com|org|in|net|io)_)?[^.]*/.exec(name)[0]

const named = functionNames()
const bodies = Map.groupBy(
  (function* () {
    at = code[0]
    for (let n = unsigned(), index = imported; n > 0; n--) yield { name: named.get(index++) ?? '?', body: bytes() }
  })(),
  ({ name }) => packageOf(name),
)
const rows = [...bodies].map(([name, functions]) => {
  const all = Buffer.concat(functions.map(({ body }) => body))
  return [name, functions.length, all.length, gzipSync(all, { level: 9 }).length]
})
for (const [name, ...numbers] of rows.sort((a, b) => b[3] - a[3])) {
  console.log(name.padEnd(60), ...numbers.map((n) => String(n).padStart(9)))
}
