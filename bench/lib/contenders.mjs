// A contender in a throughput round: a Worker, its load, and the check of the responses that it served.
import { gatewayConfig, plant } from './gateway.mjs'
import { CONNECTIONS, interleave, load } from './load.mjs'
import { ROUNDS, SECONDS, WARM_SECONDS } from './options.mjs'
import { stop } from './process.mjs'
import { Tally } from './tally.mjs'
import { serve } from './workerd.mjs'

// The default plan admits ten requests per second per key, so this many keys allow 1,280 requests per second. No contender
// on this plan serves as many on two cores.
const MOST_KEYS = 128

/**
 * Runs rounds of load against one Worker. name is part of the prompts. The keys are used in turn. By default, they
 * are the project's.
 */
export class Contender {
  constructor(tally, side, socket, name, options = {}) {
    const { project, keys = project?.keys ?? ['none'], mode = 'unique', connections = CONNECTIONS } = options
    Object.assign(this, { tally, side, socket, name, project, keys: keys.slice(0, MOST_KEYS), mode, connections })
  }

  run(round, seconds = SECONDS) {
    const { side, socket, mode, connections, keys } = this
    const options = { key: keys.join(','), mode, round: `${this.name} ${round}`, seconds, connections }
    return this.tally.check(this, () => load(side.urls[socket], side.child, options))
  }
}

/** The gateway in its own process, with its own objects. */
export class Gateway {
  constructor(name, side, tally, projects) {
    Object.assign(this, { name, side, tally, projects })
  }

  /**
   * Starts the gateway with projects from bench/seed. cacheURL is the data center's cache. Without it, there is no
   * Cache API. variables are the gateway's.
   */
  static async start(name, parts, upstreamURL, projects, { cacheURL, variables } = {}) {
    const colos = cacheURL === undefined ? [] : [cacheURL]
    const side = await serve(gatewayConfig(name, parts, upstreamURL, { colos, variables }))
    await plant(side.urls, ...projects)
    return new Gateway(name, side, new Tally(upstreamURL, side.urls.gateway), projects)
  }

  contender(name, project, options) {
    return new Contender(this.tally, this.side, 'gateway', `${this.name} ${name}`, { project, ...options })
  }

  /** Checks the usage of all projects, and stops. */
  async stop() {
    for (const project of this.projects) await this.tally.checkUsage(project)
    await stop(this.side.child)
  }
}

/** Runs a warm-up round, then the interleaved rounds. */
export async function measure(contenders, seconds = SECONDS) {
  for (const contender of contenders) await contender.run('warm', WARM_SECONDS)
  return interleave(
    ROUNDS,
    contenders.map((contender) => (round) => contender.run(round, seconds)),
  )
}
