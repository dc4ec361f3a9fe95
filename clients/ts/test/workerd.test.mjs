// The client in workerd: a Worker that streams a completion, without Node compatibility.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, test } from 'node:test'
import { build } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import { startServer } from './server.mjs'

const server = await startServer()
const KEY = Buffer.alloc(24, 7)
const SECRET = `whsec_${KEY.toString('base64')}`
const WORKER = `
  import { Postern, verifyWebhook } from './dist/index.js'
  export default {
    async fetch(request, env) {
      if (new URL(request.url).pathname === '/hook') {
        const options = { secret: env.POSTERN_WEBHOOK_SECRET }
        const { type, code } = await verifyWebhook(await request.text(), request.headers, options).catch((error) => error)
        return Response.json({ type, code })
      }
      const postern = new Postern({ apiKey: env.POSTERN_API_KEY, baseURL: env.POSTERN_BASE_URL, retries: 1 })
      const stream = await postern.ai.chat(await request.json(), { signal: request.signal })
      const { readable, writable } = new TransformStream()
      const writer = writable.getWriter()
      const write = async () => {
        for await (const event of stream) await writer.write(new TextEncoder().encode(event.text ?? JSON.stringify(event.usage)))
        await writer.close()
      }
      const { name } = await postern.violations.get('vio_1').catch((error) => error)
      return Response.json({ name, text: (await Promise.all([write(), new Response(readable).text()]))[1] })
    },
  }`

const { outputFiles, warnings } = await build({
  stdin: { contents: WORKER, resolveDir: new URL('..', import.meta.url).pathname },
  bundle: true,
  format: 'esm',
  platform: 'neutral',
  write: false,
})
function start(compatibilityFlags, bindings) {
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: outputFiles[0].text,
      compatibilityDate: '2026-11-17',
      compatibilityFlags,
      bindings: { POSTERN_API_KEY: 'sk_test_a', POSTERN_WEBHOOK_SECRET: SECRET, ...bindings },
    }),
  )
  after(() => worker.dispose())
  return worker
}

// Node's modules have been enabled by default since 2026-08-04.
const worker = start(['no_nodejs_compat', 'no_nodejs_compat_v2'], { POSTERN_BASE_URL: `${server}/c/workerd` })

async function streams(worker, id) {
  const usage = { costCents: 0.5 }
  const script = [
    { fault: 'close' },
    {
      sse: [
        { type: 'delta', text: 'Hi' },
        { type: 'delta', text: '!' },
        { type: 'done', usage },
      ],
    },
    { status: 404, json: { error: 'Not found', code: 'not_found', requestId: 'req_1' } },
  ]
  await fetch(`${server}/__cases/${id}`, { method: 'PUT', body: JSON.stringify(script) })
  const messages = [{ role: 'user', content: 'Hello!' }]
  const response = await worker.dispatchFetch('http://worker.test/', {
    method: 'POST',
    body: JSON.stringify({ messages }),
  })
  assert.deepEqual(await response.json(), { name: 'NotFoundError', text: `Hi!${JSON.stringify(usage)}` })
  const requests = await (await fetch(`${server}/__cases/${id}`)).json()
  assert.match(requests[1].headers['user-agent'], /^postern-ts\/\d+\.\d+\.\d+ \(workerd\)$/)
  assert.deepEqual(requests[1].body, { messages })
}

test('a Worker streams', () => streams(worker, 'workerd'))

test('so does one that looks like Node.js, whose variables name a proxy', async () => {
  const variables = { HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'http://127.0.0.1:1' }
  const looksLikeNode = start(['nodejs_compat'], { ...variables, POSTERN_BASE_URL: `${server}/c/compatible` })
  await streams(looksLikeNode, 'compatible')
})

test('the bundle has no warning, and nothing of Node.js', () => {
  assert.deepEqual(warnings, [])
  assert.doesNotMatch(outputFiles[0].text, /(require\(|from ?|import\()["'](node:|undici)/)
})

test('a Worker verifies a webhook', async () => {
  const seconds = String(Math.floor(Date.now() / 1000))
  const body = JSON.stringify({ type: 'budget.threshold', id: 'evt_1', data: {} })
  const hmac = createHmac('sha256', KEY).update(`evt_1.${seconds}.${body}`).digest('base64')
  const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': seconds, 'webhook-signature': `v1,${hmac}` }
  const send = async (text) =>
    (await worker.dispatchFetch('http://worker.test/hook', { method: 'POST', body: text, headers })).json()
  assert.deepEqual(await send(body), { type: 'budget.threshold' })
  assert.deepEqual(await send(`${body} `), { code: 'invalid_signature' })
})
