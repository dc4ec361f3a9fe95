// Writes the performance section of README.md from the figures in bench/results.json. With --keep it first replaces them
// by the figures of the last `make bench`.
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { section } from './lib/markdown.mjs'
import { QUICK } from './lib/options.mjs'
import { BENCH, OUT, ROOT } from './lib/process.mjs'

const FROM = '<!-- make generate writes the text from here to the next comment -->'
const TO = '<!-- end of the text of make generate -->'
const readme = join(ROOT, 'README.md')
const kept = join(BENCH, 'results.json')

function fail(message) {
  console.error(`bench-readme: ${message}`)
  process.exit(1)
}

/** README.md with its section replaced. */
function replaced(text) {
  const [from, to] = [text.indexOf(FROM), text.indexOf(TO)]
  if (from < 0 || to < from) fail('README.md lacks the two comments that mark the section')
  const results = JSON.parse(readFileSync(kept, 'utf8'))
  return `${text.slice(0, from + FROM.length)}\n\n${section(results)}\n${text.slice(to)}`
}

function keep() {
  const last = join(OUT, 'results.json')
  if (!existsSync(last)) fail('there are no figures: run `PEERS=1 make bench` first')
  const { quick, complete } = JSON.parse(readFileSync(last, 'utf8'))
  if (!complete) fail('the last run was not complete: run `PEERS=1 make bench`')
  if (quick && !QUICK)
    fail('the last run was a quick one: run `PEERS=1 make bench`, or set QUICK=1 to try this command')
  copyFileSync(last, kept)
}

if (process.argv[2] === '--keep') keep()
writeFileSync(readme, replaced(readFileSync(readme, 'utf8')))
