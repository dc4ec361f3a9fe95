// The shipped gateway, as bundled by wrangler. Its platform operations are counted and, on request, delayed.
//
// A request's header x-bench has three parts, as in "hot/17,50,120": the name under which to count the request
// ("case/number"), the delay of each object call in milliseconds, and the delay of each KV read in milliseconds. Work
// that an object does without a request (alarms, deliveries) is counted as "case/". GET /bench/counts returns the
// counts by these names. They include the number of responses with each status and cache state. GET /bench/crowd returns
// the milliseconds of each object call in the case "crowd".
import gateway, * as classes from './index.js'

const counts = new Map()
const crowdTimes = { root: [], others: [] }
const TOPS = ['root', 'grp_end'] // the Ledgers at the tops of trees of budgets

function count(tag, name, n = 1) {
  if (tag === '') return
  const row = counts.get(tag) ?? {}
  counts.set(tag, row)
  row[name] = (row[name] ?? 0) + n
}

const background = (tag) => tag.slice(0, tag.indexOf('/') + 1)

async function delayed(ms, work) {
  if (ms > 0) await scheduler.wait(ms)
  return await work()
}

/** A namespace of objects whose calls are counted under tag(). The tag is passed on to the objects. */
function namespace(inner, tag, objectMs) {
  return {
    idFromName: (name) => inner.idFromName(name),
    get(id, options) {
      const stub = inner.get(id, options)
      return {
        async call(command) {
          const by = tag()
          count(by, 'objectCalls')
          const top = TOPS.includes(id.name)
          if (top) count(by, 'topCalls')
          const start = performance.now()
          const reply = await delayed(objectMs, () => stub.call(command, by))
          if (by.startsWith('crowd/')) crowdTimes[top ? 'root' : 'others'].push(performance.now() - start)
          return reply
        },
      }
    },
  }
}

function kv(inner, tag, kvMs) {
  return {
    get(...args) {
      count(tag(), 'kvReads')
      return delayed(kvMs, () => inner.get(...args))
    },
    put(...args) {
      count(tag(), 'kvWrites')
      return inner.put(...args)
    },
    delete(...args) {
      count(tag(), 'kvWrites')
      return inner.delete(...args)
    },
  }
}

function measuredEnv(env, tag, objectMs = 0, kvMs = 0) {
  return {
    ...env,
    KV: kv(env.KV, tag, kvMs),
    KEY_METER: namespace(env.KEY_METER, tag, objectMs),
    LEDGER: namespace(env.LEDGER, tag, objectMs),
    DIRECTORY: namespace(env.DIRECTORY, tag, objectMs),
  }
}

/**
 * An object's storage with the rows that Cloudflare bills: each read and written value, and each alarm that is set. Writes are
 * also counted by class and kind of row.
 */
function measuredStorage(storage, tag, className) {
  const { kv: rows } = storage
  const written = (key) => {
    count(tag(), 'rowsWritten')
    count(tag(), `${className} ${key.split('/')[0]}`)
  }
  return {
    kv: {
      get(key) {
        count(tag(), 'rowsRead')
        return rows.get(key)
      },
      list(options) {
        const found = [...rows.list(options)]
        count(tag(), 'rowsRead', Math.max(1, found.length))
        return found
      },
      put(key, value) {
        written(key)
        rows.put(key, value)
      },
      delete(key) {
        written(key)
        return rows.delete(key)
      },
    },
    transactionSync: (body) => storage.transactionSync(body),
    getAlarm: () => storage.getAlarm(),
    setAlarm(ms) {
      count(tag(), 'alarmsSet')
      count(tag(), `${className} alarm`)
      return storage.setAlarm(ms)
    },
  }
}

function measured(className) {
  const Base = classes[className]
  return class extends Base {
    #by

    constructor(ctx, env) {
      // The tag of the request that the object is working for, or the case of the last request.
      const by = { tag: '' }
      const tag = () => by.tag
      Object.defineProperty(ctx, 'storage', { value: measuredStorage(ctx.storage, tag, className) })
      super(ctx, measuredEnv(env, tag))
      this.#by = by
    }

    // A command runs without waiting for anything, so later work no longer belongs to the request.
    call(command, tag = '') {
      const before = this.#by.tag
      this.#by.tag = tag
      try {
        return super.call(command)
      } finally {
        this.#by.tag = tag === '' ? before : background(tag)
      }
    }

    alarm(...args) {
      count(this.#by.tag, 'alarmsRung')
      return super.alarm(...args)
    }
  }
}

export const KeyMeter = measured('KeyMeter')
export const Ledger = measured('Ledger')
export const Directory = measured('Directory')

export default {
  async fetch(request, env, ctx) {
    if (request.url.endsWith('/bench/crowd')) return Response.json(crowdTimes)
    if (request.url.endsWith('/bench/counts')) return Response.json(Object.fromEntries(counts))
    const [tag = '', objectMs = 0, kvMs = 0] = (request.headers.get('x-bench') ?? '').split(',')
    const response = await gateway.fetch(
      request,
      measuredEnv(env, () => tag, Number(objectMs), Number(kvMs)),
      ctx,
    )
    count(tag, `${response.status} ${response.headers.get('x-postern-cache') ?? ''}`.trim())
    return response
  },
}
