// `make dev` with a fake wrangler that exits on request.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Checkout } from './checkout.mjs'

const WRANGLER = `
const port = process.argv[process.argv.indexOf('--port') + 1]
const answers = {
  'GET /api/admin/projects': { projects: [{ id: 'proj_1', name: 'Demo', status: 'active' }], next: null },
  'GET /api/admin/projects/proj_1/keys': { keys: [], next: null },
  'POST /api/admin/projects/proj_1/keys': { value: 'sk_test_1' },
  'GET /api/health': { project_id: 'proj_1' },
}
require('node:http')
  .createServer(({ method, url }, response) => {
    if (url === '/end') process.exit(1)
    response.end(JSON.stringify(answers[method + ' ' + url.split('?')[0]]))
  })
  .listen(port, '127.0.0.1', () => console.log('Ready on http://127.0.0.1:' + port))
`

test('make dev restarts wrangler three times, then exits', async () => {
  const checkout = new Checkout({ wrangler: WRANGLER })
  const dev = await checkout.start()
  for (let runs = 1; runs <= 4; runs++) {
    const { baseUrl } = await dev.ready(runs)
    await assert.rejects(fetch(`${baseUrl}/end`))
  }
  const { code, errors } = await dev.ended
  assert.equal(code, 1)
  assert.match(errors, /dev: wrangler exited again after 3 restarts/)
  assert.equal(dev.output.match(/restarting/g).length, 3)
  assert.ok(!checkout.has('.dev/keys.json'))
})

test('if wrangler does not start, make dev prints its output and exits', async () => {
  const checkout = new Checkout({ wrangler: `console.error('no such thing'); process.exit(1)` })
  const { code, errors } = await (await checkout.start()).ended
  assert.equal(code, 1)
  assert.match(errors, /no such thing/)
  assert.match(errors, /dev: wrangler exited/)
  assert.ok(!checkout.has('.dev/pid'))
})

test('POSTERN_PORT must be a port', async () => {
  const checkout = new Checkout({ wrangler: '// not started' })
  for (const port of ['abc', '0', '65536', '-1']) {
    const { code, errors } = await (await checkout.start({ port })).ended
    assert.equal(code, 1)
    assert.equal(errors, `dev: POSTERN_PORT must be an integer between 1 and 65535, got "${port}"\n`)
  }
})
