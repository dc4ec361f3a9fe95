// The Governor's scan of a text with all default rules, compared to SHA-256 of the same bytes. Both run natively, and
// in the WebAssembly module in Node's V8.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { QUICK } from './options.mjs'
import { OUT, output, ROOT } from './process.mjs'
import { ms, row } from './table.mjs'

const SIZES = [
  ['1 KB', 1 << 10],
  ['32 KB', 32 << 10],
  ['1 MB', 1 << 20],
]
const TEXTS = {
  prose: 'docs/project/decisions/core-and-hosts.md',
  code: 'core/exchange/machine.go',
  JSON: 'core/catalog/catalog.json',
}
const ROUND_MS = QUICK ? 50 : 400
const CPU_LIMIT_MS = 10

/** The text, repeated or cut to the given length. */
function filled(text, length) {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; at += text.length) text.copy(bytes, at)
  return bytes
}

/** The time of the shortest of many calls. Other processes disturbed that call least. */
function shortest(work) {
  let best = Number.POSITIVE_INFINITY
  const end = performance.now() + ROUND_MS
  while (performance.now() < end) {
    const start = performance.now()
    work()
    best = Math.min(best, performance.now() - start)
  }
  return best
}

async function scanner() {
  const file = join(OUT, 'governor.wasm')
  const flags = ['-target', 'tools/target.json', '-opt=2', '-no-debug', '-panic=trap', '-gc=leaking']
  await output('tinygo', ['build', ...flags, '-o', file, './bench/governor'])
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), {})
  exports._initialize?.()
  return exports
}

/** The rows for each kind and size of text, and for the amount of text that 10 ms of CPU time allow. */
export async function governor() {
  const { memory, address, scan, hash } = await scanner()
  const [rows, files, perByte] = [[], [], []]
  mkdirSync(OUT, { recursive: true })
  for (const [kind, source] of Object.entries(TEXTS)) {
    let medium = 0
    for (const [size, length] of SIZES) {
      const text = filled(readFileSync(join(ROOT, source)), length)
      new Uint8Array(memory.buffer).set(text, address())
      const ours = shortest(() => scan(length))
      const theirs = shortest(() => hash(length))
      const most = size === '32 KB' ? 0.5 : undefined
      const growth = size === '1 MB' ? `${(ours / medium).toFixed(1)} × 32 KB, target ≤ 35` : ''
      rows.push(
        row(`Governor, ${size} of ${kind} in V8, against SHA-256`, ms(ours), ms(theirs), ours / theirs, {
          most,
          note: growth,
        }),
      )
      if (size === '32 KB') medium = ours
      if (size === '1 MB') perByte.push(ours / length)
      files.push([`${kind}-${length}`, text, `Governor, ${size} of ${kind} natively, against SHA-256`])
    }
  }
  const kilobytes = Math.round(CPU_LIMIT_MS / Math.max(...perByte) / 1024)
  rows.push(
    row(`Governor, text that ${CPU_LIMIT_MS} ms of CPU time allow in V8`, `${kilobytes} KB`, '', 'slowest text', {}),
  )
  return [...rows, ...(await native(files))]
}

async function native(files) {
  const paths = files.map(([name, text]) => {
    const path = join(OUT, `text-${name}`)
    writeFileSync(path, text)
    return path
  })
  const times = JSON.parse(await output('go', ['run', './bench/governor', ...paths]))
  return times.map(({ scanMs, hashMs }, i) => row(files[i][2], ms(scanMs), ms(hashMs), scanMs / hashMs))
}
