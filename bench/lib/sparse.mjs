// Sparse traffic: keys with a request every 20 seconds, the only ones of their projects. Most keys have so little traffic
// that each request finds nothing left from the one before: no lease, no reservation, and usage that was already reported.
import { setTimeout as sleep } from 'node:timers/promises'
import { QUICK } from './options.mjs'

const INTERVAL_MS = 20_000
const KEYS = QUICK ? 2 : 10
const REQUESTS = QUICK ? 1 : 12 // four minutes, because a meter may wait that long before it reports usage
const APART_MS = 500 // between the keys, so that they do not share work

/** The names of the projects of bench/seed, each with one key. */
const projects = (kind) => Array.from({ length: KEYS }, (_, i) => `${kind}-${i}`)

/** Sends a request of each key. as and number name the case for the counts. */
async function once(to, all, as, number) {
  const sent = all.map(async (project, i) => {
    await sleep(i * APART_MS)
    return to.send(project, `${as} ${number} ${i}`, { as, ...(number === '' ? { number } : {}) })
  })
  return Promise.all(sent)
}

function sparse(name, plan) {
  return {
    name,
    title: `a request every 20 s of a project's only key, ${plan}`,
    wanted: '200 miss',
    targets: { rows: 4, dollars: 5 },
    projects: projects(name),
    // The first requests of the keys are not counted.
    prepare: async (to, all) => {
      await once(to, all, name, '')
      await sleep(INTERVAL_MS)
      return (await to.counts())[`${name}/`]
    },
    run: async (to, all) => {
      const responses = []
      for (let n = 0; n < REQUESTS; n++) {
        if (n > 0) await sleep(INTERVAL_MS)
        responses.push(...(await once(to, all, name, n)))
      }
      await sleep(INTERVAL_MS) // the last report
      return responses
    },
  }
}

export const sparseCases = [sparse('sparse', 'default plan'), sparse('sparse-lent', 'plan with leases')]
