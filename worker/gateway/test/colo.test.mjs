// Tests the data center's cache: every failure is a miss, and a platform without a cache is tried only once.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { Colo } from '../src/colo.ts'

const bytes = (text) => new TextEncoder().encode(text)
const VALUE = bytes('value')

afterEach(() => {
  delete globalThis.caches
})

/** A Cache API with the given behavior. It counts its calls. */
function platform({ match, put }) {
  const store = new Map()
  const calls = { match: 0, put: 0, delete: 0 }
  globalThis.caches = {
    default: {
      async match(url) {
        calls.match++
        return match === undefined ? store.get(url)?.clone() : match()
      },
      async put(url, response) {
        calls.put++
        if (put === undefined) store.set(url, response)
        else put()
      },
      async delete(url) {
        calls.delete++
        return store.delete(url)
      },
    },
  }
  return { store, calls }
}

test('a value is stored under a URL of a reserved host, for its TTL', async () => {
  const { store } = platform({})
  const colo = new Colo()
  await colo.write('cache/prj_1/00 ?#/stream', VALUE, 60)
  assert.deepEqual(await colo.read('cache/prj_1/00 ?#/stream'), VALUE)
  assert.equal(await colo.read('cache/prj_1/01'), undefined)
  const [[url, response]] = store
  assert.equal(new URL(url).pathname, '/cache/prj_1/00%20%3F%23/stream')
  assert.match(new URL(url).hostname, /\.invalid$/)
  assert.equal(response.headers.get('cache-control'), 'max-age=60')
})

test('an empty value removes the entry', async () => {
  platform({})
  const colo = new Colo()
  await colo.write('a', VALUE, 60)
  await colo.write('a', bytes(''), 0)
  assert.equal(await colo.read('a'), undefined)
  assert.equal(colo.available, true)
})

test('a platform that throws on first use has no cache', async () => {
  const broken = () => {
    throw new Error('No Cache was configured')
  }
  const { calls } = platform({ match: broken, put: broken })
  const colo = new Colo()
  assert.equal(await colo.read('a'), undefined)
  assert.equal(colo.available, false)
  assert.equal(calls.match, 1)
})

test('a platform that stores nothing has no cache', async () => {
  const { calls } = platform({ match: () => undefined, put: () => undefined })
  const colo = new Colo()
  assert.equal(await colo.read('a'), undefined)
  assert.equal(colo.available, true)
  await colo.write('a', VALUE, 60)
  assert.equal(colo.available, false)
  assert.equal(calls.put, 1)
})

test('a later failure is a miss, and the cache stays in use', async () => {
  let down = false
  const { store } = platform({
    match: () => {
      if (down) throw new Error('down')
      return [...store.values()][0]?.clone()
    },
    put: undefined,
  })
  const colo = new Colo()
  await colo.write('a', VALUE, 60)
  assert.deepEqual(await colo.read('a'), VALUE)
  down = true
  assert.equal(await colo.read('a'), undefined)
  await colo.write('b', VALUE, 60)
  assert.equal(colo.available, true)
})

test('without a Cache API there is nothing to ask', () => {
  assert.equal(new Colo().available, false)
})
