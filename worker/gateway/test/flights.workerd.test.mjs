// Tests flights and the Cache API in workerd. The core only joins, waits and lands. Requests share data, but no context, and
// the platform may end a leader without notice.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { stubWorker } from './stubworker.mjs'

const worker = `
import { Action, ACTION_APPEND, ACTION_CLOSE, ACTION_FOLLOW, ACTION_JOIN, ACTION_LAND, ACTION_OPEN, ACTION_PUBLISH, ACTION_RESPOND, ACTION_SEND,
  ACTION_WAIT, EVENT_FLIGHT, EVENT_REQUEST, EVENT_STORED, EVENT_TIMER, FLIGHT_MORE, NO_BYTES, OUTCOME_JOINED } from '../src/abi.ts'
import { Colo } from '../src/colo.ts'
import { serve } from '../src/host.ts'
import { Isolate } from '../src/isolate.ts'

const encoder = new TextEncoder()
const action = (kind, fields) => Object.assign(new Action(), { kind }, fields)
const data = (text) => ({ buffer: 0, data: encoder.encode(text) })
const LANDED = 1

// The leader publishes ?pieces= pieces, ?wait= ms apart, and lands. A follower sends what it reads. It responds when it
// has the first bytes.
function step(_now, _shared, state, _attached, _pinned, event, waiting) {
  const s = state.length === 0 ? {} : JSON.parse(new TextDecoder().decode(state))
  const actions = []
  const add = (kind, fields) => actions.push(action(kind, fields))
  if (event.kind === EVENT_REQUEST) {
    const query = event.headers[event.headers.indexOf(':query') + 1]
    const params = new URLSearchParams(query)
    s.wait = Number(params.get('wait') ?? 100)
    s.left = Number(params.get('pieces') ?? 5)
    add(ACTION_JOIN, { id: 1, name: event.headers[event.headers.indexOf(':path') + 1] })
  } else if (event.kind === EVENT_STORED && event.code === OUTCOME_JOINED) {
    add(ACTION_FOLLOW, { id: 2 })
  } else if (event.kind === EVENT_STORED) {
    add(ACTION_APPEND, { buffer: 6, data: NO_BYTES })
    add(ACTION_PUBLISH, { buffer: 6, limit: 1000, body: [data('head ')] })
    add(ACTION_WAIT, { id: 3, keepMs: s.wait })
  } else if (event.kind === EVENT_TIMER && s.left-- > 0) {
    add(ACTION_APPEND, { buffer: 6, data: encoder.encode(s.left + ' ') })
    add(ACTION_WAIT, { id: 3, keepMs: s.wait })
  } else if (event.kind === EVENT_TIMER) {
    add(ACTION_LAND, { code: LANDED, data: encoder.encode('landed') })
    add(ACTION_RESPOND, { code: 200, headers: ['x-role', 'leader'], body: [data(String(waiting))] })
  } else if (event.kind === EVENT_FLIGHT && event.code === FLIGHT_MORE) {
    if (!s.open) add(ACTION_OPEN, { code: 200, headers: ['x-role', 'follower'] })
    s.open = true
    add(ACTION_SEND, { body: [{ buffer: 0, data: event.data }] })
    add(ACTION_FOLLOW, { id: 2 })
  } else if (event.kind === EVENT_FLIGHT) {
    add(ACTION_SEND, { body: [data(event.code + ' '), { buffer: 0, data: event.data }] })
    add(ACTION_CLOSE, {})
  }
  return { sharedChanged: false, pinnedChanged: false, state: encoder.encode(JSON.stringify(s)), actions }
}

const configured = {
  error: '', requestHeaders: [], responseHeaders: [], memoryBytes: 0, memoryEntryBytes: 0, memoryOverheadBytes: 0, pinnedEntries: 0,
  kvCacheSeconds: 60, lastResortStatus: 500, lastResortHeaders: [], lastResortBody: [NO_BYTES, NO_BYTES],
}
const colo = new Colo()
const isolate = new Isolate({ start: () => configured, step }, colo)
export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/colo') {
      await colo.write('cache/prj/00', encoder.encode('value'), 60)
      const found = await colo.read('cache/prj/00')
      return Response.json({ found: found && new TextDecoder().decode(found), other: await colo.read('x') === undefined, available: colo.available })
    }
    if (!searchParams.has('mortal')) return serve(isolate, request, env, ctx)
    // Nothing keeps this exchange alive after the response. It acts as if the platform had cut waitUntil.
    void serve(isolate, request, env, { waitUntil() {} })
    return new Response('gone')
  },
}
`

const miniflare = await stubWorker(worker)
const url = await miniflare.ready
after(() => miniflare.dispose())

const get = async (path) => {
  const response = await fetch(new URL(path, url), { signal: AbortSignal.timeout(30_000) })
  return { role: response.headers.get('x-role'), text: await response.text() }
}

test('100 requests share one flight, and each gets everything', async () => {
  const all = await Promise.all(Array.from({ length: 100 }, () => get('/shared?wait=500'))) // all must arrive before it lands
  assert.equal(all.filter(({ role }) => role === 'leader').length, 1)
  assert.equal(all.find(({ role }) => role === 'leader').text, '99')
  for (const { role, text } of all) if (role === 'follower') assert.equal(text, 'head 4 3 2 1 0 1 landed')
})

test('each of many followers continues in its own context', async () => {
  let followers = 0
  for (let round = 0; round < 100; round++) {
    const all = await Promise.all(Array.from({ length: 64 }, () => get(`/many-${round}?wait=1&pieces=20`)))
    for (const { role, text } of all) {
      if (role === 'leader') continue
      assert.match(text, /^head 19 .* 0 1 landed$/)
      followers++
    }
  }
  assert.ok(followers > 1000, `only ${followers} followers`)
})

test('a leader that the platform ends without notice fails its flight', async () => {
  assert.equal((await get('/mortal?wait=60000&mortal')).text, 'gone')
  assert.deepEqual(await get('/mortal'), { role: 'follower', text: 'head 2 ' })
  const next = await get('/mortal')
  assert.equal(next.role, 'leader')
})

test('a leader that lives keeps its flight, however long it publishes nothing', async () => {
  const both = await Promise.all(['a', 'b'].map(() => get('/silent?wait=4500&pieces=0')))
  assert.deepEqual(both.map(({ role }) => role).sort(), ['follower', 'leader'])
  assert.equal(both.find(({ role }) => role === 'follower').text, 'head 1 landed')
})

test("Miniflare's Cache API is found", async () => {
  const { text } = await get('/colo')
  assert.deepEqual(JSON.parse(text), { found: 'value', other: true, available: true })
})
