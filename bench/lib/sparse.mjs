// Sparse traffic: keys with a request every 20 seconds, the only ones of their projects. Most keys have so little traffic
// that each request finds nothing left from the one before: no lease, no reservation, and usage that was already reported.
import { setTimeout as sleep } from 'node:timers/promises'
import { QUICK } from './options.mjs'

const INTERVAL_MS = 20_000
const KEYS = QUICK ? 2 : 10
const REQUESTS = QUICK ? 1 : 12 // four minutes, because a meter waits that long before it reports usage again
// Before the counted requests of a key. Its next report and the Ledger's summary for the deployment then fall into the
// counted four minutes, as in any four minutes of an hour.
const PRIMED = QUICK ? 1 : 8
const APART_MS = 500 // between the keys, so that they do not share work

/** The names of the projects of bench/seed, each with one key. */
const projects = (kind) => Array.from({ length: KEYS }, (_, i) => `${kind}-${i}`)

/** Sends a number of requests of each key, at fixed times. uncounted makes them count as work without a request. */
async function send(to, all, as, requests, uncounted = {}) {
  const start = performance.now()
  const sent = all.map(async (project, i) => {
    const responses = []
    for (let n = 0; n < requests; n++) {
      await sleep(Math.max(0, start + i * APART_MS + n * INTERVAL_MS - performance.now()))
      responses.push(await to.send(project, `${as} ${to.sent} ${i} ${n}`, { as, ...uncounted }))
    }
    return responses
  })
  const responses = (await Promise.all(sent)).flat()
  await sleep(Math.max(0, start + requests * INTERVAL_MS - performance.now()))
  return responses
}

function sparse(name, plan) {
  return {
    name,
    title: `a request every 20 s of a project's only key, ${plan}`,
    wanted: '200 miss',
    targets: { rows: 4, dollars: 5 },
    projects: projects(name),
    prepare: async (to, all) => {
      await send(to, all, name, PRIMED, { number: '' })
      return (await to.counts())[`${name}/`]
    },
    run: (to, all) => send(to, all, name, REQUESTS),
  }
}

export const sparseCases = [sparse('sparse', 'default plan'), sparse('sparse-lent', 'plan with leases')]
