// Latency under open load: requests are due at a fixed rate, and a request's latency counts from the time at which it was
// due (see bench/client). A table has its own percentiles of all rounds together.
import { join } from 'node:path'
import { interleave, median } from './load.mjs'
import { OUT, output } from './process.mjs'
import { ms, perSecond } from './table.mjs'

/** The rates, as shares of the throughput that Postern reached under closed load. */
export const LOADS = [0.25, 0.5, 0.75]
export const head = ['server', 'load', 'rate', 'p50', 'p90', 'p99', 'p99.9', 'max']
const PERCENTILES = [50, 90, 99, 99.9, 100]

/** Runs bench/client with flags. Its output has the latencies in milliseconds. */
export async function client(flags) {
  const args = Object.entries(flags).map(([name, value]) => `-${name}=${value}`)
  return JSON.parse(await output(join(OUT, 'client'), args))
}

/** Merges histograms, which are lists of buckets: their highest latency in milliseconds, and their count. */
export function merge(histograms) {
  const counts = new Map()
  for (const [highest, count] of histograms.flat()) counts.set(highest, (counts.get(highest) ?? 0) + count)
  return [...counts].sort(([a], [b]) => a - b)
}

/** The latency that p percent of a histogram's requests do not exceed. */
export function percentile(histogram, p) {
  const total = histogram.reduce((sum, [, count]) => sum + count, 0)
  const rank = Math.ceil((p * total) / 100 - 1e-6) // 99.9 % of 1,000 is 999, in spite of rounding
  let seen = 0
  for (const [highest, count] of histogram) {
    seen += count
    if (seen >= rank) return highest
  }
  return Number.NaN
}

/** A row for a server under one load: the percentiles of all its rounds. */
export function latencyRow(name, load, rate, results) {
  const all = merge(results.map((r) => r.buckets))
  const percent = `${Math.round(load * 100)} %`
  return [name, percent, perSecond(rate), ...PERCENTILES.map((p) => ms(percentile(all, p)))]
}

/**
 * Sends requests at the rates of LOADS to several servers, which have the same rates in the same rounds. throughput is
 * Postern's in requests per second. Each server has a name and open(rate), which runs a round. Returns the rows of the
 * table, and the results of each load by server.
 */
export async function openLoads(servers, throughput, rounds) {
  const rows = []
  const results = []
  for (const load of LOADS) {
    const rate = throughput * load
    const byServer = await interleave(
      rounds,
      servers.map(
        ({ open }) =>
          () =>
            open(rate),
      ),
    )
    results.push(byServer)
    rows.push(...servers.map(({ name }, i) => latencyRow(name, load, rate, byServer[i])))
  }
  return { rows, results }
}

/** The median, over the rounds, of what one server's percentile exceeds another's, in milliseconds. */
export const added = (ours, theirs, name) => median(ours.map((r, i) => r[name] - theirs[i][name]))
