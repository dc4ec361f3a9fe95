// make bench: measures Postern against baselines in the same run. A row that misses its target is marked "short". The exit
// code is nonzero only after a wrong response or a broken run. The figures are also written to build/bench/results.json.
//
// PEERS=1 adds other gateways. QUICK=1 tries every measurement in a short run whose figures mean little.
// ONLY=hops,peers repeats only some of the sections and keeps the last run's results for the others.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { why } from './lib/explanations.mjs'
import { bundle } from './lib/gateway.mjs'
import { CONNECTIONS } from './lib/load.mjs'
import { PEERS, QUICK } from './lib/options.mjs'
import { OUT, output, stop } from './lib/process.mjs'
import { build, startUpstream } from './lib/programs.mjs'
import { described, machine } from './lib/results.mjs'
import { sections } from './lib/sections.mjs'
import { table } from './lib/table.mjs'

const started = performance.now()
const say = (text) => console.error(`bench: ${((performance.now() - started) / 1000).toFixed(0)} s: ${text}`)
const only = process.env.ONLY?.split(',')

say('building')
await build('upstream', 'colo', 'client')
const seed = JSON.parse(await output('go', ['run', './bench/seed']))
const parts = await bundle('bundle', 'wrangler.toml')
const upstream = await startUpstream()
const results = { date: new Date().toISOString().slice(0, 10), quick: QUICK, machine: await machine(), sections: {} }
const file = join(OUT, 'results.json')
const last = only && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).sections : {}
const failures = []
for (const [name, { title, optional, run }] of Object.entries(sections)) {
  if (only ? !only.includes(name) : optional && !PEERS) {
    if (last[name] !== undefined) results.sections[name] = last[name]
    continue
  }
  say(title)
  try {
    const { failures: wrong = [], ...section } = await run(parts, upstream.url, seed)
    results.sections[name] = { title, date: results.date, ...section }
    failures.push(...wrong)
  } catch (error) {
    failures.push(`${title}: ${error.stack}`)
  }
}
await stop(upstream.child)
const missing = Object.entries(sections).filter(
  ([name, { optional }]) => !optional && results.sections[name] === undefined,
)
results.complete = failures.length === 0 && missing.length === 0
results.seconds = Math.round((performance.now() - started) / 1000)
mkdirSync(OUT, { recursive: true })
writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)

console.log(`\n${described(results.machine)}`)
console.log(`plain workerd, ${CONNECTIONS} connections, medians; ratios are of pairs in the same round`)
for (const section of Object.values(results.sections)) {
  console.log(`\n${section.title}\n\n${table(section.head, section.rows)}\n`)
  for (const line of [...section.notes, ...why(section)]) console.log(line)
}
for (const failure of failures) console.error(`\nfailed: ${failure}`)
process.exit(failures.length > 0 ? 1 : 0)
