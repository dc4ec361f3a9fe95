// Attacks from other origins, and through names and URLs.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after } from 'node:test'
import { onServe } from '../serve.mjs'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

/** Starts another origin, with a page that attacks the dashboard. */
async function startAttacker() {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(`<!doctype html><title>Attacker</title>
      <form method="post" enctype="text/plain" action="${service.url}/api/admin/projects">
        <input name='{"name":"Planted","x":"' value='"}'><button>Go</button>
      </form>
      <iframe title="framed" src="${service.url}/dashboard"></iframe>`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close().closeAllConnections())
  return server.address().port
}

const names = async () => (await service.get('projects?limit=100')).projects.map(({ name }) => name)

journey('forms and scripts of another origin cannot make changes', { as: 'owner' }, async (visit) => {
  const { page } = visit
  const port = await startAttacker()
  const before = await service.project({ name: 'Target' })
  // The same host with another port is same-site, so the cookie is sent. Another host is cross-site.
  for (const host of ['127.0.0.1', 'localhost']) {
    const origin = `http://${host}:${port}`
    visit.others.add(origin)
    await page.goto(origin, { waitUntil: 'networkidle' })
    assert.equal(await page.frames()[1].locator('#app').count(), 0, 'the dashboard is not framed')
    const results = await page.evaluate(
      async ([url, id]) => {
        const attempt = (path, init) =>
          fetch(`${url}/api/admin/${path}`, { credentials: 'include', ...init }).then(
            (response) => (response.type === 'opaque' ? 'unreadable' : `read ${response.status}`),
            () => 'blocked',
          )
        const json = { 'content-type': 'application/json' }
        return [
          await attempt('projects', { method: 'POST', body: '{"name":"Planted"}', mode: 'no-cors' }),
          await attempt('projects', { method: 'POST', body: '{"name":"Planted"}', headers: json }),
          await attempt(`projects/${id}`, { method: 'PATCH', body: '{"name":"Planted"}', headers: json }),
          await attempt(`projects/${id}`, { method: 'GET' }),
        ]
      },
      [service.url, before.id],
    )
    assert.deepEqual(results, ['unreadable', 'blocked', 'blocked', 'blocked'], host)
    await Promise.all([
      page.waitForURL(`${service.url}/api/admin/projects`),
      page.getByRole('button', { name: 'Go' }).click(),
    ])
    assert.match(await page.locator('body').textContent(), /cross_origin|invalid_api_key|missing_api_key/)
    assert.deepEqual(await names(), onServe ? ['Demo', 'Target'] : ['Target'], host)
  }
})

journey(
  'a request with a cookie but without the dashboard’s origin is rejected',
  { as: 'owner' },
  async ({ context }) => {
    const [{ name, value }] = await context.cookies(`${service.url}/api/admin/`)
    const cookie = `${name}=${value}`
    for (const headers of [
      { cookie },
      { cookie, origin: 'null' },
      { cookie, origin: 'https://example.com' },
      { cookie, origin: `${service.url}.example.com` },
      { cookie, 'sec-fetch-site': 'same-site' },
    ]) {
      const { status, body } = await service.call('POST', 'projects', { name: 'Forged' }, headers)
      assert.deepEqual([status, body.code], [403, 'cross_origin'], JSON.stringify(headers))
    }
    assert.equal((await service.call('POST', 'projects', { name: 'Own' }, { cookie, origin: service.url })).status, 201)
  },
)

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  'javascript:alert(4)',
  '</title><svg onload=alert(5)>',
  '../../../dashboard#<b>',
]

journey('names with markup are shown as text everywhere', { as: 'owner' }, async ({ page }) => {
  const exact = (text) => page.getByText(text, { exact: true }).first().waitFor()
  for (const name of HOSTILE) {
    const project = await service.project({ name })
    const key = await service.key(project, { name })
    const { status } = await service.complete(key.value, { messages: [{ role: 'user', content: name }] })
    assert.equal(status, 200)
    const at = `/dashboard/projects/${project.id}`
    await page.goto('/dashboard/projects')
    await exact(name)
    await page.goto(`${at}/keys`)
    await page.getByRole('rowheader', { name, exact: true }).waitFor()
    await page.getByRole('button', { name: `Delete ${name}`, exact: true }).click()
    await page.getByRole('dialog').getByText(name, { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.goto(`${at}/keys/${key.id}`)
    await page.getByRole('heading', { name: `Key ${name}`, exact: true }).waitFor()
    await until('the title', async () => (await page.title()) === `Key ${name} · ${name} · Postern`)
    await page.goto(`${at}/settings`)
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), name)
  }
  await page.goto('/dashboard/audit')
  await page.getByRole('table').getByText(HOSTILE.at(-1), { exact: true }).first().waitFor()
  assert.equal(await page.locator('main img, main script, main svg, main b').count(), 0)
})

journey('a hostile URL runs no script and redirects to no other origin', { as: 'owner' }, async ({ page }) => {
  for (const path of [
    '/dashboard/projects/%3Cimg%20src=x%20onerror=alert(1)%3E',
    '/dashboard/projects?q=%3Cscript%3Ealert(1)%3C/script%3E',
    '/dashboard/audit?project=%22%3E%3Cscript%3E',
    '/dashboard/nothing/here',
  ]) {
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.equal(new URL(page.url()).origin, service.url, path)
  }
  for (const next of [
    '//example.com',
    'https://example.com',
    '/\\example.com',
    'javascript:alert(1)',
    '/api/admin/session',
  ]) {
    await page.goto(`/dashboard/signin?next=${encodeURIComponent(next)}`)
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/dashboard', next)
  }
})

journey('a path with malformed percent-encoding gives 404', {}, async () => {
  for (const path of ['/dashboard/%E0%A4%A', '/api/admin/projects/%', '/api/admin/%zz']) {
    const response = await fetch(service.url + path)
    if (onServe && response.status === 400) continue // net/http refuses a malformed address itself
    assert.equal(response.status, 404, path)
    assert.equal((await response.json()).code, 'not_found', path)
  }
})
