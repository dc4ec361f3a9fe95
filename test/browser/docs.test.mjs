// The documentation on the gateway's own origin, next to the dashboard.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { after } from 'node:test'
import { startBrowser } from './browser.mjs'
import { launchService, startService } from './service.mjs'
import { variables } from './workers.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

journey('an error leads to the documentation of its code', { as: 'owner' }, async ({ page }) => {
  const response = await service.fetch('/v1/models')
  assert.equal(response.status, 401)
  const [, path] = response.headers.get('link').match(/^<([^>]+)>; rel="help"$/)
  assert.equal(path, '/docs/reference/errors/#missing_api_key')
  await page.goto(path)
  await page.locator('#missing_api_key').waitFor()
  assert.ok(await page.locator('#missing_api_key').isVisible())
  await page.goto('/docs/errors#model_not_allowed') // the short address
  await page.locator('#model_not_allowed').waitFor()
  assert.equal(new URL(page.url()).pathname, '/docs/reference/errors/')
})

journey('the search finds a page, and the dashboard leads to the documentation', { as: 'owner' }, async ({ page }) => {
  await page.goto('/dashboard/models')
  const link = page.getByRole('list', { name: 'Help' }).getByRole('link', { name: 'Documentation' })
  assert.equal(await link.getAttribute('href'), '/docs/')
  await findInDocs(page, '/docs/')
})

/** Searches the documentation at an address and follows the link that it finds. */
async function findInDocs(page, address) {
  await page.goto(address)
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('searchbox').or(page.getByPlaceholder('Search')).first().fill('circuit breaker')
  const found = page
    .getByRole('dialog')
    .getByRole('link', { name: /routing/i })
    .first()
  await found.click()
  await page.waitForURL((url) => url.pathname.endsWith('routing/')) // the page before has a heading, too
  await page.getByRole('heading', { level: 1 }).waitFor()
  assert.match(new URL(page.url()).pathname, /^\/docs\/.*routing\/$/)
}

/** Starts a proxy in front of the service that replaces the host, as nginx does by default. */
async function startProxy() {
  const { hostname, port } = new URL(service.url)
  const proxy = createServer(({ url: path, method, headers }, response) => {
    const forwarded = { hostname, port, path, method, headers: { ...headers, host: 'upstream.internal' } }
    request(forwarded, (received) => {
      response.writeHead(received.statusCode, received.headers)
      received.pipe(response)
    }).end()
  }).listen(0, '127.0.0.1')
  after(() => proxy.close())
  await once(proxy, 'listening')
  return `http://127.0.0.1:${proxy.address().port}`
}

journey('the documentation works behind a proxy that replaces the host', {}, async (visit) => {
  const origin = await startProxy()
  visit.others.add(origin)
  await findInDocs(visit.page, `${origin}/docs/`)
  assert.equal(new URL(visit.page.url()).origin, origin)
})

journey('a page of the documentation cannot reach the admin API', { as: 'owner' }, async (visit) => {
  const { page } = visit
  visit.expected.push(/./) // each attempt is reported as a policy violation
  assert.equal((await page.request.get('/api/admin/projects')).status(), 200, 'the browser is signed in')
  await page.goto('/docs/guides/routing/')
  const reached = await page.evaluate(async () => {
    const inTime = (run) => new Promise((resolve) => run(resolve))
    const element = (name, attributes) =>
      inTime((done) => {
        const made = Object.assign(document.createElement(name), attributes)
        made.onload = () => done('loaded')
        made.onerror = () => done('blocked')
        document.body.append(made)
      })
    const request = (send) =>
      send().then(
        () => 'sent',
        () => 'blocked',
      )
    globalThis.injected = 'blocked'
    document.body.append(
      Object.assign(document.createElement('script'), { textContent: 'globalThis.injected = "ran"' }),
    )
    return {
      fetch: await request(() => fetch('/api/admin/projects')),
      index: await request(() => fetch('/docs/pagefind/pagefind-entry.json')),
      script: await element('script', { src: '/dashboard/theme.js' }),
      image: await element('img', { src: '/dashboard/favicon.svg' }),
      inline: globalThis.injected,
      beacon: navigator.sendBeacon('/api/admin/session') ? 'queued' : 'blocked',
    }
  })
  assert.deepEqual(
    { ...reached, beacon: undefined },
    { fetch: 'blocked', index: 'sent', script: 'blocked', image: 'blocked', inline: 'blocked', beacon: undefined },
  )
  const framed = await page.evaluate(
    () =>
      new Promise((resolve) => {
        document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => resolve(effectiveDirective))
        document.body.append(Object.assign(document.createElement('iframe'), { src: '/dashboard' }))
      }),
  )
  assert.match(framed, /^(frame|default)-src$/)
})

/** Opens an address in a window and tries to call the admin API from there. */
async function throughWindow(page, address) {
  const opening = page.context().waitForEvent('page')
  await page.evaluate((path) => {
    globalThis.opened = window.open(path)
  }, address)
  const opened = await opening
  await opened.waitForLoadState()
  const reached = await page.evaluate(() => {
    try {
      return globalThis.opened.fetch('/api/admin/projects').then(
        ({ status }) => status,
        () => 'forbidden',
      )
    } catch {
      return 'severed'
    }
  })
  const opener = await opened.evaluate(() => (window.opener ? 'has an opener' : 'has no opener'))
  await opened.close()
  return `${reached}, ${opener}`
}

journey('windows of the documentation and of other pages are kept apart', { as: 'owner' }, async (visit) => {
  const { page } = visit
  visit.expected.push(/./) // the error of the API, and the violation in a window of the documentation
  await page.goto('/docs/guides/routing/')
  for (const address of ['/dashboard', '/dashboard/favicon.svg', '/v1/models', '/api/admin/nothing']) {
    assert.equal(await throughWindow(page, address), 'severed, has no opener', address)
  }
  assert.equal(await throughWindow(page, '/docs/'), 'forbidden, has an opener', 'only the policy forbids it')
  await page.goto('/dashboard')
  assert.equal(await throughWindow(page, '/docs/'), 'severed, has no opener')
  assert.equal(await throughWindow(page, '/dashboard/keys'), '200, has an opener', 'the attempt would succeed')
})

/** The labels of the help links on the sign-in page, and after signing in and out. */
async function helpLinks(page, token) {
  const links = page.getByRole('list', { name: 'Help' }).getByRole('link')
  const found = []
  const note = async () => {
    await links.filter({ hasText: 'OpenAPI spec' }).waitFor()
    found.push(await links.allTextContents())
  }
  await page.goto('/dashboard')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await note()
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await note()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await note()
  return found
}

journey('the dashboard links to the documentation, signed in or not', {}, async ({ page }) => {
  const all = ['Documentation', 'Adding models', 'OpenAPI spec']
  assert.deepEqual(await helpLinks(page, service.tokens.owner), [all, all, all])
})

const bare = await launchService((upstream, tokens) => {
  const both = variables(upstream, tokens)
  return { ...both, gateway: { ...both.gateway, POSTERN_DOCS: 'off' } }
})
after(() => bare.stop())
const { journey: journeyWithout } = await startBrowser(bare)

journeyWithout('without documentation, the dashboard has no link to it', {}, async ({ page }) => {
  const rest = ['OpenAPI spec']
  assert.deepEqual(await helpLinks(page, bare.tokens.owner), [rest, rest, rest])
})
