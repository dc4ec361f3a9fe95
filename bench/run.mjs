import { BENCH, firstLine, output, start } from './lib/process.mjs'
import { bundle } from './lib/gateway.mjs'
import { throughput } from './lib/throughput.mjs'
import { table } from './lib/table.mjs'
import { OUT, ROOT } from './lib/process.mjs'
import { join } from 'node:path'
async function upstream() {
  const child = start(join(OUT, 'upstream'), [], { stdout: 'pipe' })
  return `http://127.0.0.1:${await firstLine(child, child.stdout)}`
}
await output('go', ['build', '-o', OUT + '/', './bench/seed', './bench/upstream'])
const seed = JSON.parse(await output(join(OUT, 'seed'), []))
const parts = await bundle('bundle', 'wrangler.toml')
const r = await throughput(parts, { gateway: await upstream(), baseline: await upstream() }, seed)
console.log(table(['a','b','c','d','e','f'], r.rows)); console.log(r.checked, r.cpuMs)
process.exit(0)
