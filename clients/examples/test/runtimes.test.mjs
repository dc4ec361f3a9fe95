// The chat handler in workerd, Deno and Bun, and its reader in Chromium, against the real gateway.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { chat } from '@postern-ai/client/browser'
import { build } from 'esbuild'
import express from 'express'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import { launchChromium } from '../../../test/browser/browser.mjs'
import { counted, ROOT, startGateway } from '../../../test/sdk/gateway.mjs'

const gateway = await startGateway()
const key = await gateway.key(await gateway.project({ cache: 'off' }))
const folder = mkdtempSync(join(tmpdir(), 'postern-runtimes-'))
after(() => rmSync(folder, { recursive: true }))

async function bundled(contents, options = {}) {
  const stdin = { contents, resolveDir: import.meta.dirname }
  const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', write: false, ...options })
  return outputFiles[0].text
}

// If a visitor disconnects, workerd aborts the request's signal only with this flag. Without the flag, it cancels the
// response's body instead.
async function inWorkerd(flags) {
  const script = await bundled(`
    import { Postern } from '@postern-ai/client'
    import { createChatHandler } from '@postern-ai/client/handler'
    let chat
    export default {
      fetch(request, env) {
        chat ??= createChatHandler({ client: new Postern(env.client), authorize: () => true })
        return chat(request)
      },
    }`)
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script,
      compatibilityDate: '2026-11-17',
      compatibilityFlags: flags,
      bindings: { client: { apiKey: key, baseURL: gateway.url } },
    }),
  )
  after(() => worker.dispose())
  return String(await worker.ready)
}

async function inProgram(name, args, serve) {
  const program = join(folder, `${name}.mjs`)
  const contents = `
    import { Postern } from '@postern-ai/client'
    import { createChatHandler } from '@postern-ai/client/handler'
    const chat = createChatHandler({ client: new Postern(), authorize: () => true })
    ${serve}`
  writeFileSync(program, await bundled(contents, { platform: 'node' }))
  const env = { ...process.env, POSTERN_API_KEY: key, POSTERN_BASE_URL: gateway.url }
  const runtime = join(ROOT, '.tools/runtimes', name)
  const child = spawn(runtime, [...args, program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  after(() => child.kill())
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return line
}

const DENO =
  "Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: ({ port }) => console.log('http://127.0.0.1:' + port) }, chat)"
const BUN =
  "const { port } = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: chat }); console.log('http://127.0.0.1:' + port)"
const runtimes = {
  workerd: await inWorkerd([]),
  'workerd with request signals': await inWorkerd(['enable_request_signal']),
  Deno: await inProgram('deno', ['run', '-A'], DENO),
  Bun: await inProgram('bun', ['run'], BUN),
}
const say = (content) => ({ messages: [{ role: 'user', content }] })

for (const [name, url] of Object.entries(runtimes)) {
  test(`${name}: streams`, async () => {
    let text = ''
    for await (const piece of chat(url, say('count to 30'))) text += piece
    assert.equal(text, counted(30))
  })

  test(`${name}: rejects a page of another origin`, async () => {
    const headers = { origin: 'https://evil.example' }
    await assert.rejects(chat(url, say('x'), { headers }).next(), { status: 403 })
  })

  test(`${name}: ends the upstream request when the visitor leaves`, async () => {
    const prompt = `count to 2000 in ${name}`
    await gateway.next({ kind: 'answer', delayMs: 20 }) // half of the events take twenty seconds
    let read = 0
    for await (const _ of chat(url, say(prompt))) if (++read === 10) break
    const request = await gateway.ended(prompt)
    assert.equal(request.left, true)
    assert.ok(request.eventsSent < 1000, `${request.eventsSent} events`)
  })
}

// The Express example with a page that uses the browser example, and a second origin with the same page.
async function site() {
  Object.assign(process.env, { POSTERN_API_KEY: key, POSTERN_BASE_URL: gateway.url })
  const { app } = await import('../express.mjs')
  const script = await bundled("export * from '../page.mjs'", { platform: 'browser' })
  const sites = [app, express()].map((each) => {
    each.get('/', (_, response) => response.send('<p id="output"></p>'))
    each.get('/page.js', (_, response) => response.type('js').send(script))
    return each.listen(0)
  })
  after(() => {
    for (const server of sites) {
      server.closeAllConnections()
      server.close()
    }
  })
  return sites.map((server) => `http://localhost:${server.address().port}`)
}

test('Chromium: a page streams, and a page of another origin cannot', async () => {
  const [own, other] = await site()
  const browser = await launchChromium()
  after(() => browser.close())
  const context = await browser.newContext()
  await context.addCookies([{ name: 'session', value: 'demo', url: own, sameSite: 'Lax' }])
  const page = await context.newPage()
  const ask = (question) =>
    page.evaluate(async (asked) => {
      const output = document.getElementById('output')
      output.textContent = ''
      const { ask } = await import('/page.js')
      await ask(asked, output)
      return output.textContent
    }, question)
  await page.goto(own)
  assert.equal(await ask('count to 30'), counted(30))
  await gateway.next({ kind: 'error-event' })
  assert.match(await ask('count to 40'), /That failed \(req_[0-9a-f]{32}\)\.$/)

  await page.goto(other)
  const before = (await gateway.seen()).length
  const call = (headers) =>
    page.evaluate(
      async ([url, sent]) => {
        const body = JSON.stringify({ messages: [{ role: 'user', content: 'x' }] })
        const mode = sent ? { headers: sent } : { mode: 'no-cors' }
        const init = { method: 'POST', credentials: 'include', body, ...mode }
        return fetch(`${url}/api/chat`, init).then(
          (response) => response.status,
          (error) => error.name,
        )
      },
      [own, headers],
    )
  assert.equal(await call({ 'content-type': 'application/json' }), 'TypeError') // the preflight fails
  assert.equal(await call(null), 0) // a form sends plain text, and the page cannot see the response
  assert.equal((await gateway.seen()).length, before)
})
