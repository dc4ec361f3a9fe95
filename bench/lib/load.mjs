// Rounds of load and their statistics.
import { join } from 'node:path'
import { BENCH, cpuSeconds, output } from './process.mjs'

export const CONNECTIONS = 8

/**
 * One round of wrk against a URL. mode is "unique" or "same". load.lua describes the other options. child is the
 * process whose CPU time is measured. A peer's errors are counted. An error of Postern or of a baseline ends the run.
 */
export async function load(
  url,
  child,
  { key, mode, round, seconds, connections = CONNECTIONS, more = [], attempts = 3, peer = false },
) {
  const before = cpuSeconds(child)
  const args = [
    '-t',
    '1',
    '-c',
    `${connections}`,
    '-d',
    `${seconds}s`,
    '--timeout',
    '30s',
    '-s',
    join(BENCH, 'load.lua'),
    url,
    '--',
  ]
  const text = await output('wrk', [...args, key, mode, round, ...more])
  const result = JSON.parse(text.trim().split('\n').at(-1))
  if (result.requests === 0 && result.errors === 0 && attempts > 1) {
    console.error(`bench: no response within ${seconds} s from ${url}; repeating the round`)
    return load(url, child, {
      key,
      mode,
      round: `${round} repeated`,
      seconds,
      connections,
      more,
      attempts: attempts - 1,
      peer,
    })
  }
  const broken = result.requests === 0 || (result.errors > 0 && !peer)
  if (broken) throw new Error(`${url}, ${round}: ${result.errors} errors\n${text}`)
  return figures(result, cpuSeconds(child) - before)
}

/** The figures of a round. Only successes count in its throughput, but every response costs CPU time. */
export function figures(result, cpuSecondsUsed) {
  return {
    ...result,
    perSecond: (result.requests - result.failed) / result.seconds,
    cpuMs: (cpuSecondsUsed * 1000) / result.requests,
  }
}

/** A note on a peer's errors in some rounds, or an empty string. */
export function errorNote(name, results) {
  const sum = (field) => results.reduce((total, result) => total + result[field], 0)
  const [errors, requests] = [sum('errors'), sum('requests')]
  return errors === 0
    ? ''
    : `${name}: ${errors.toLocaleString('en')} errors, ${requests.toLocaleString('en')} responses`
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Runs the contenders in turn (A B A B) for a number of rounds. Returns each contender's results in order. */
export async function interleave(rounds, contenders) {
  const results = contenders.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, contend] of contenders.entries()) results[i].push(await contend(round))
  }
  return results
}

/** The median of ours / theirs over the rounds, or a dash if a peer failed throughout one of them. */
export function ratio(ours, theirs, metric) {
  const ratios = ours.map((result, i) => metric(result) / metric(theirs[i]))
  return ratios.every(Number.isFinite) ? median(ratios) : '–'
}
