// The client refuses to start in a real browser: in a page, in a worker and in a service worker.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { chromiumPath } from '../../../test/chromium.mjs'

const PROGRAM = `
  import { Postern } from './dist/index.js'
  export const outcome = (() => {
    try { return new Postern({ apiKey: 'sk_test_verySecret' }).baseURL } catch (error) { return error.name + ': ' + error.message }
  })()`
const bundle = async () => {
  const stdin = { contents: PROGRAM, resolveDir: new URL('..', import.meta.url).pathname }
  const { outputFiles } = await build({ stdin, bundle: true, format: 'iife', globalName: 'client', write: false })
  return outputFiles[0].text
}
const script = await bundle()
const server = createServer((request, response) => {
  const files = {
    '/': ['text/html', '<!doctype html><script src="/page.js"></script>'],
    '/page.js': ['text/javascript', script],
    '/worker.js': ['text/javascript', `${script}; self.postMessage?.(client.outcome)`],
    '/service.js': [
      'text/javascript',
      `${script}; addEventListener('message', (event) => event.source.postMessage(client.outcome))`,
    ],
  }
  const [type, text] = files[request.url] ?? ['text/plain', '']
  response.writeHead(200, { 'content-type': type })
  response.end(text)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const browser = await chromium.launch({
  executablePath: chromiumPath,
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
})
const page = await browser.newPage()
page.setDefaultNavigationTimeout(90_000) // on a busy machine, the first page takes a long time
await page.goto(`http://127.0.0.1:${server.address().port}/`)
after(async () => {
  await browser.close()
  server.close()
})

const REFUSED = /^ConfigurationError: This client does not run in browsers/

/** The code that runs in the page. */
const PLACES = {
  page: () => globalThis.client.outcome,
  worker: () =>
    new Promise((resolve) => {
      new Worker('/worker.js').onmessage = ({ data }) => resolve(data)
    }),
  'service worker': async () => {
    await navigator.serviceWorker.register('/service.js')
    const { active } = await navigator.serviceWorker.ready
    return new Promise((resolve) => {
      navigator.serviceWorker.onmessage = ({ data }) => resolve(data)
      active.postMessage('')
    })
  },
}

for (const [name, run] of Object.entries(PLACES)) {
  test(`a ${name} is refused`, async () => {
    const outcome = await page.evaluate(run)
    assert.match(outcome, REFUSED)
    assert.ok(!outcome.includes('verySecret'))
  })
}
