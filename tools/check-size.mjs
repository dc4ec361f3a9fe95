// Usage: check-size.mjs FILE LIMIT. Prints the size of a module, and fails if it exceeds LIMIT bytes gzipped.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { gzipSync } from 'node:zlib'

const [path, limit] = process.argv.slice(2)
const file = relative('', path).replace(/\.new(?=\/|$)/, '') // the name of the file after a successful build
const binary = readFileSync(path)
const excess = gzipSync(binary, { level: 9 }).length - Number(limit)
console.error(`${file}: ${binary.length} bytes, ${excess + Number(limit)} gzipped of at most ${limit}`)
if (!(excess <= 0)) {
  console.error(
    `${file} is ${excess} bytes too large. CONTRIBUTING.md, "See what contributes to a module's size", says how to make ` +
      'it smaller. A higher limit in build.sh needs its reason in docs/project/decisions/build-and-release.md.',
  )
  process.exit(1)
}
