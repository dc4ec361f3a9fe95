// Time from process start to first byte: the gateway with its core against an empty Worker.
import { join } from 'node:path'
import { gatewayConfig } from './gateway.mjs'
import { interleave, median, ratio } from './load.mjs'
import { BENCH, stop } from './process.mjs'
import { ms, row } from './table.mjs'
import { configure, modules, serve, worker } from './workerd.mjs'

const ROUNDS = 7

async function firstByte(config, socket, path, status) {
  const start = performance.now()
  const server = await serve(config)
  const response = await fetch(server.urls[socket] + path)
  const took = performance.now() - start
  if (response.status !== status) throw new Error(`first response: ${response.status}`)
  await stop(server.child)
  return took
}

export async function startup(parts, upstreamURL) {
  const gateway = gatewayConfig('startup', parts, upstreamURL)
  const empty = configure('empty', [worker('empty', modules(join(BENCH, 'workers'), 'empty.js'))], ['empty'])
  const [ours, theirs] = await interleave(ROUNDS, [
    // A request without a key: the core rejects it without any other call.
    () => firstByte(gateway, 'gateway', '/api/health', 401),
    () => firstByte(empty, 'empty', '/', 200),
  ])
  const value = ratio(ours, theirs, (took) => took)
  return row('process start to first byte, against an empty Worker', ms(median(ours)), ms(median(theirs)), value)
}
