// Writes the figures in docs/project/performance.md and README.md from bench/results.json. With --keep, it first
// replaces the figures in that file with those of the last `make bench` and of the last `make bench-selfhosted`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tables } from './lib/markdown.mjs'
import { QUICK } from './lib/options.mjs'
import { BENCH, OUT, ROOT } from './lib/process.mjs'
import { brief, summary } from './lib/summary.mjs'

const FROM = '<!-- make generate writes the text from here to the next comment -->'
const TO = '<!-- end of the text of make generate -->'
const kept = join(BENCH, 'results.json')

function fail(message) {
  console.error(`bench-docs: ${message}`)
  process.exit(1)
}

/** Replaces the text between the two comments of a file. */
function write(name, text) {
  const file = join(ROOT, name)
  const page = readFileSync(file, 'utf8')
  const [from, to] = [page.indexOf(FROM), page.indexOf(TO)]
  if (from < 0 || to < from) fail(`${name} lacks the two comments around the figures`)
  writeFileSync(file, `${page.slice(0, from + FROM.length)}\n\n${text}\n${page.slice(to)}`)
}

/** The results of the last run of one benchmark, or undefined if there was none. */
function last(name, command) {
  const file = join(OUT, name)
  if (!existsSync(file)) return undefined
  const results = JSON.parse(readFileSync(file, 'utf8'))
  if (results.complete === false) fail(`the last run was not complete: run \`${command}\``)
  if (results.quick && !QUICK)
    fail(`the last run was a quick one: run \`${command}\`, or set QUICK=1 to try this command`)
  return results
}

function keep() {
  const edge = last('results.json', 'PEERS=1 make bench')
  const server = last('selfhosted.json', 'make bench-selfhosted')
  if (edge === undefined && server === undefined)
    fail('there are no figures: run `PEERS=1 make bench` and `make bench-selfhosted` first')
  const { selfhosted, ...before } = JSON.parse(readFileSync(kept, 'utf8'))
  const results = { ...(edge ?? before), selfhosted: server ?? selfhosted }
  writeFileSync(kept, `${JSON.stringify(results, null, 2)}\n`)
}

if (process.argv[2] === '--keep') keep()
const results = JSON.parse(readFileSync(kept, 'utf8'))
write('docs/project/performance.md', `${summary(results)}\n${tables(results)}`)
write('README.md', brief(results))
