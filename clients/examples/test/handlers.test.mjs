// The chat handlers in Hono, in Express 4 and 5, and as a route of Next.js, over real connections: a reader of
// @postern-ai/client/browser in front, the real gateway behind.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { serve } from '@hono/node-server'
import { ChatError, chat } from '@postern-ai/client/browser'
import express from 'express'
import express4 from 'express4'
import { counted, startGateway } from '../../../test/sdk/gateway.mjs'

const gateway = await startGateway()
const project = await gateway.project({ cache: 'off' })
const key = await gateway.key(project)
const empty = await gateway.key(await gateway.project({ budget: 0 }))

/** Imports an example again, so that its client reads the key from the variable. */
async function example(name, apiKey) {
  Object.assign(process.env, { POSTERN_API_KEY: apiKey, POSTERN_BASE_URL: gateway.url })
  return import(`../${name}?key=${apiKey.slice(-4)}`)
}

async function listening(server) {
  if (!server.listening) await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}/api/chat`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, close }
}

const onExpress = async (make, apiKey, prepare = () => undefined) => {
  const { createChatHandler } = await import('@postern-ai/client/express')
  const { Postern } = await import('@postern-ai/client')
  const client = new Postern({ apiKey, baseURL: gateway.url })
  const app = make()
  prepare(app)
  app.all('/api/chat', createChatHandler({ client, authorize: ({ headers }) => headers.cookie === 'session=demo' }))
  return app.listen(0)
}

const servers = {
  'Next.js': async (apiKey) => {
    const { POST } = await example('nextjs-route.mjs', apiKey)
    return serve({ fetch: POST, port: 0 })
  },
  Hono: async (apiKey) => serve({ fetch: (await example('hono.mjs', apiKey)).default.fetch, port: 0 }),
  'Express 5': async (apiKey) => (await example('express.mjs', apiKey)).app.listen(0),
  'Express 5 with its JSON parser': (apiKey) => onExpress(express, apiKey, (app) => app.use(express.json())),
  'Express 4': (apiKey) => onExpress(express4, apiKey),
  'Express 4 with its JSON parser': (apiKey) => onExpress(express4, apiKey, (app) => app.use(express4.json())),
}

const say = (content) => ({ messages: [{ role: 'user', content }] })
const session = { headers: { cookie: 'session=demo' } }

async function collected(stream) {
  const pieces = []
  for await (const piece of stream) pieces.push(piece)
  return pieces
}

for (const [name, start] of Object.entries(servers)) {
  const { url, close } = await listening(await start(key))
  const it = (what, run) => test(`${name}: ${what}`, run)

  it('streams as the provider does', async () => {
    const pieces = await collected(chat(url, say('count to 30'), session))
    assert.equal(pieces.join(''), counted(30))
    assert.ok(pieces.length > 20, `${pieces.length} pieces`)
  })

  it('sends the headers of a stream, and nothing of the key', async () => {
    const headers = { 'content-type': 'application/json', ...session.headers }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(say('Hello')) })
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(response.headers.get('cache-control'), 'no-store, no-transform')
    assert.equal(response.headers.get('x-accel-buffering'), 'no')
    const all = JSON.stringify([...response.headers]) + (await response.text())
    assert.match(all, /data: \[DONE\]/)
    for (const hidden of [key, 'x-postern', 'openai', 'costCents']) assert.ok(!all.includes(hidden), hidden)
  })

  it('rejects a visitor without a session, and pages of other origins', async () => {
    const before = (await gateway.seen()).length
    await assert.rejects(collected(chat(url, say('x'))), { status: 401, code: 'unauthorized' })
    const headers = { ...session.headers, origin: 'https://evil.example' }
    await assert.rejects(collected(chat(url, say('x'), { headers })), { status: 403, code: 'forbidden' })
    assert.equal((await gateway.seen()).length, before)
  })

  it('rejects a large body, other methods and other types', async () => {
    const large = say('x'.repeat(300_000))
    await assert.rejects(collected(chat(url, large, session)), { status: 413 })
    for (const method of ['GET', 'HEAD', 'PUT']) {
      const response = await fetch(url, { method, headers: session.headers })
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST, OPTIONS'])
    }
    const response = await fetch(url, { method: 'POST', body: 'x', headers: session.headers })
    assert.equal(response.status, 415)
    assert.equal((await collected(chat(url, say('count to 3'), session))).join(''), counted(3))
  })

  it('ends the upstream request when the browser leaves', async () => {
    const prompt = `count to 2000 for ${name}`
    await gateway.next({ kind: 'answer', delayMs: 20 }) // half of the events take twenty seconds
    let read = 0
    for await (const _ of chat(url, say(prompt), session)) if (++read === 10) break
    const request = await gateway.ended(prompt)
    assert.equal(request.left, true)
    assert.ok(request.eventsSent < 1000, `${request.eventsSent} events`)
  })

  it('ends a stream that the provider breaks with an error', async () => {
    await gateway.next({ kind: 'error-event' })
    const pieces = []
    const read = async () => {
      for await (const piece of chat(url, say(`count to 40 ${name}`), session)) pieces.push(piece)
    }
    await assert.rejects(read(), (error) => {
      assert.ok(error instanceof ChatError)
      assert.match(error.requestId, /^req_/)
      return true
    })
    assert.ok(pieces.length > 0)
  })

  it('tells the browser the code and the request ID of an error only', async () => {
    const other = await listening(await start(empty))
    await assert.rejects(collected(chat(other.url, say('x'), session)), (error) => {
      assert.deepEqual([error.status, error.code], [503, 'budget_exceeded'])
      assert.match(error.requestId, /^req_/)
      assert.equal(error.message, 'The service is not available. Try again later.')
      return true
    })
    other.close()
    close()
  })
}
