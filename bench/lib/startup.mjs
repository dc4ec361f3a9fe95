// Time from process start to first byte: the gateway, an empty Worker, and a Worker with the gateway's bundle that
// only compiles and instantiates the core. Each is the only Worker of its process.
import { join } from 'node:path'
import { aloneConfig } from './gateway.mjs'
import { interleave, median, ratio } from './load.mjs'
import { QUICK } from './options.mjs'
import { BENCH, stop } from './process.mjs'
import { ms, row } from './table.mjs'
import { configure, modules, serve, worker } from './workerd.mjs'

const ROUNDS = QUICK ? 2 : 9

async function firstByte(config, socket, path, status) {
  const start = performance.now()
  const server = await serve(config)
  const response = await fetch(server.urls[socket] + path)
  const took = performance.now() - start
  if (response.status !== status) throw new Error(`first response: ${response.status}`)
  await stop(server.child)
  return took
}

/** The bundle with a main module that only creates an instance of the core. */
function instantiating(parts) {
  const { name } = parts.find(({ wasm }) => wasm !== undefined)
  const text = `
    import module from './${name}'
    new WebAssembly.Instance(module, {})
    export class KeyMeter {}
    export class Ledger {}
    export class Directory {}
    export default { fetch: () => new Response('ok') }
  `
  return [{ name: 'instantiate.js', esModule: text }, ...parts]
}

export async function startup(parts) {
  const gateway = aloneConfig('gateway', parts)
  const empty = configure('empty', [worker('empty', modules(join(BENCH, 'workers'), 'empty.js'))], ['empty'])
  const core = aloneConfig('core', instantiating(parts))
  const [ours, theirs, least] = await interleave(ROUNDS, [
    // A request without a key: the core rejects it without any other call.
    () => firstByte(gateway, 'gateway', '/api/health', 401),
    () => firstByte(empty, 'empty', '/', 200),
    () => firstByte(core, 'core', '/', 200),
  ])
  const of = (times) => ms(median(times))
  const more = median(ours.map((took, i) => took - least[i]))
  const against = (a, b) => ratio(a, b, (took) => took)
  return [
    row(
      'process start to first byte, against a Worker that only instantiates the core',
      of(ours),
      of(least),
      against(ours, least),
      {
        most: 1.15,
      },
    ),
    row(
      'process start to first byte, in ms more than a Worker that only instantiates the core',
      of(ours),
      of(least),
      more,
      {
        most: 12,
      },
    ),
    row(
      'a Worker that only instantiates the core, against an empty Worker',
      of(least),
      of(theirs),
      against(least, theirs),
      {
        most: 1.5,
      },
    ),
    row('process start to first byte, against an empty Worker', of(ours), of(theirs), against(ours, theirs)),
  ]
}
