// make bench: measures Postern against baselines in the same run. A row below its target is marked "short". The exit
// code is nonzero only after a wrong response or a broken run.
import { bundle } from './lib/gateway.mjs'
import { governed } from './lib/governed.mjs'
import { governor } from './lib/governor.mjs'
import { hops } from './lib/hops.mjs'
import { CONNECTIONS } from './lib/load.mjs'
import { firstLine, output, start, stop } from './lib/process.mjs'
import { startup } from './lib/startup.mjs'
import { memory, steps } from './lib/steps.mjs'
import { streams } from './lib/stream.mjs'
import { table } from './lib/table.mjs'
import { throughput } from './lib/throughput.mjs'

async function startUpstream() {
  await output('go', ['build', '-o', 'build/bench/upstream', './bench/upstream'])
  const child = start('build/bench/upstream', [], { stdout: 'pipe' })
  return { child, url: `http://127.0.0.1:${await firstLine(child, child.stdout)}` }
}

const seed = JSON.parse(await output('go', ['run', './bench/seed']))
const parts = await bundle('bundle', 'wrangler.toml')
const upstream = await startUpstream()
const rows = [
  ...(await throughput(parts, upstream.url, seed)),
  ...(await streams(parts, upstream.url, seed)),
  ...(await governed(parts, upstream.url, seed)),
  ...(await governor()),
  ...steps(seed.key),
  await startup(parts, upstream.url),
  memory(seed.key),
]
const counted = await hops()
await stop(upstream.child)

console.log(`\nplain workerd, ${CONNECTIONS} connections, medians; ratios are of pairs in the same round\n`)
console.log(table(['what', 'Postern', 'baseline', 'ratio', 'target', ''], rows))
console.log(`\n${counted}\n`)
