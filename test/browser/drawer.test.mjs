// The drawer on the page of a project's requests. It shows one request next to the list, which does not change.
import assert from 'node:assert/strict'
import { MEDIUM, NARROW, startBrowser, WIDE } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const project = await service.project({ name: 'Looked into' })
const base = `projects/${project.id}`
const at = `/dashboard/${base}/requests`
const key = await service.key(project, { name: 'Caller' })
const REFUSED = 12
const served = await send({ model: 'nickel' })
const failed = await sendFailing()
for (let i = 0; i < REFUSED; i++) await send({ model: 'nickel', messages: 'none' })
const listed = async () => (await service.get(`${base}/requests?limit=100`)).requests
await until('all are recorded', async () => (await listed()).length === REFUSED + 2)
/** The IDs of the requests, newest first, as the list shows them. */
const ids = (await listed()).map(({ requestId }) => requestId)

/** Sends a request and returns its ID. */
async function send(fields) {
  return (await service.complete(key.value, fields)).headers.get('x-request-id')
}

async function sendFailing() {
  const next = { kind: 'status', status: 503, family: 'openai', times: 2 }
  await fetch(`${service.upstream}/__fake/next`, { method: 'POST', body: JSON.stringify(next) })
  return send({ model: 'groat' })
}

const drawerOf = (page) => page.getByRole('dialog', { name: 'Request', exact: true })
const row = (page, id) => page.locator('tbody tr').filter({ has: page.locator(`a[href="${at}/${id}"]`) })
const search = (page) => new URL(page.url()).search
const shows = (page, id) => drawerOf(page).getByRole('link', { name: id, exact: true }).waitFor()
const closed = (page) => drawerOf(page).waitFor({ state: 'detached' })
const focused = (locator) =>
  until('the focus is there', () => locator.evaluate((element) => element === document.activeElement))
const scrolled = (page) => page.evaluate(() => scrollY)

/** Opens the page with the list, with the given query parameters. */
async function openList(page, query = '') {
  await page.goto(at + query)
  await page.getByRole('table', { name: 'Recent requests' }).waitFor()
}

/** Records the paths and queries of loads of the request list from now on. */
function loadsOf(page) {
  const loads = []
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.pathname === `/api/admin/${base}/requests`) loads.push(url.search)
  })
  return loads
}

journey('a click opens the drawer at once, and each way of closing it returns', { as: 'viewer' }, async ({ page }) => {
  await openList(page)
  const loads = loadsOf(page)
  const [time, cause] = [row(page, failed).getByRole('link').first(), row(page, failed).getByText('Provider error')]
  const ways = [
    [time, () => page.goBack()],
    [cause, () => page.keyboard.press('Escape')],
    [row(page, failed).getByRole('link').last(), () => drawerOf(page).getByRole('button', { name: 'Close' }).click()],
  ]
  const entries = () => page.evaluate(() => history.length)
  for (const [link, close] of ways) {
    await link.click()
    await shows(page, failed)
    assert.equal(new URL(page.url()).pathname, at)
    assert.equal(search(page), `?open=${failed}`)
    assert.equal(await row(page, failed).getAttribute('aria-current'), 'true')
    await focused(drawerOf(page).getByRole('heading', { name: 'Request', exact: true }))
    await drawerOf(page).getByRole('table', { name: 'Attempts, oldest first' }).waitFor()
    await drawerOf(page).getByRole('region', { name: 'curl' }).waitFor()
    await close()
    await closed(page)
    assert.equal(search(page), '')
    await focused(link)
    assert.equal(await row(page, failed).getAttribute('aria-current'), null)
  }
  assert.equal(await entries(), 3, 'the blank page, the list, and one step forward: closing adds no entry')
  assert.deepEqual(loads, [], 'the list has all that the drawer shows')
})

journey(
  'a click beside the links of a row opens the drawer, and its other links lead elsewhere',
  { as: 'viewer' },
  async ({ page }) => {
    await openList(page)
    const latency = row(page, failed).getByRole('cell').nth(5)
    await latency.click()
    await shows(page, failed)
    await page.keyboard.press('Escape')
    await closed(page)
    await focused(row(page, failed).getByRole('link').first())
    await row(page, failed).getByText('groat').click()
    await page.waitForURL(/dashboard\/models/)
  },
)

journey(
  'by keyboard, the drawer opens, steps through the list’s order and closes',
  { as: 'owner' },
  async ({ page }) => {
    await openList(page, '?sort=time')
    const order = ids.toReversed()
    const [first, second, third] = order
    assert.deepEqual([first, second], [served, failed])
    await row(page, second).getByRole('link').first().focus()
    await page.keyboard.press('Enter')
    await shows(page, second)
    await drawerOf(page).getByText(`2 of ${ids.length}`, { exact: true }).waitFor()
    await page.keyboard.press('j')
    await shows(page, third)
    assert.equal(search(page), `?sort=time&open=${third}`)
    await drawerOf(page).getByText('messages', { exact: true }).waitFor()
    await page.keyboard.press('k')
    await page.keyboard.press('k')
    await shows(page, first)
    await drawerOf(page).getByText('are recorded only of requests that were not served').waitFor()
    await page.keyboard.press('k')
    const [previous, next] = ['Previous', 'Next'].map((name) => drawerOf(page).getByRole('button', { name }))
    assert.equal(await previous.getAttribute('aria-disabled'), 'true')
    assert.equal(await next.getAttribute('aria-disabled'), null)
    await next.click()
    await next.click()
    await shows(page, third)
    await focused(next)
    await page.getByLabel('Model', { exact: true }).press('k')
    assert.equal(search(page).includes(`open=${third}`), true, 'a letter in a field is a letter')
    await page.keyboard.press('Backspace')
    await page.keyboard.press('Escape')
    await closed(page)
    await focused(page.getByLabel('Model', { exact: true }))
    await page.goBack()
    assert.equal(page.url(), 'about:blank', 'stepping adds no entries')
  },
)

journey('Ctrl and click, and "Open page", lead to the page', { as: 'owner' }, async ({ page, context }) => {
  await openList(page)
  const arrives = context.waitForEvent('page')
  await row(page, failed)
    .getByRole('link', { name: 'Provider error' })
    .click({ modifiers: ['ControlOrMeta'] })
  const tab = await arrives
  await tab.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor()
  assert.equal(new URL(tab.url()).pathname, `${at}/${failed}`)
  await tab.close()
  assert.equal(await drawerOf(page).count(), 0)
  await row(page, failed).getByRole('link', { name: 'Caller' }).click()
  await page.getByRole('heading', { level: 1, name: 'Caller' }).waitFor()
  await page.goBack()
  await row(page, failed).getByRole('link', { name: 'Provider error' }).click()
  await drawerOf(page).getByRole('link', { name: 'Open page' }).click()
  const heading = page.getByRole('heading', { level: 1, name: 'Request', exact: true })
  await heading.waitFor()
  await focused(heading)
  assert.equal(new URL(page.url()).pathname, `${at}/${failed}`)
  assert.equal(await scrolled(page), 0)
  await page.goBack()
  await shows(page, failed)
  await focused(drawerOf(page).getByRole('heading', { name: 'Request', exact: true }))
  await page.goBack()
  await closed(page)
})

journey(
  'the URL keeps the drawer, also of a request that the list does not have',
  { as: 'owner' },
  async ({ page }) => {
    const loads = loadsOf(page)
    await openList(page, `?open=${failed}`)
    await drawerOf(page).getByText('Provider error').first().waitFor()
    await page.reload()
    await drawerOf(page).getByText('Provider error').first().waitFor()
    assert.deepEqual(loads, ['', ''], 'the list is enough')
    await page.keyboard.press('Escape')
    await closed(page)
    await focused(row(page, failed).getByRole('link').first())

    await openList(page, `?outcome=refused&open=${failed}`)
    await drawerOf(page).getByText('Provider error').first().waitFor()
    assert.ok(
      loads.some((query) => query.includes(`request=${failed}`)),
      'it is loaded by its ID',
    )
    for (const name of ['Previous', 'Next']) {
      assert.equal(await drawerOf(page).getByRole('button', { name }).getAttribute('aria-disabled'), 'true')
    }
    await drawerOf(page).getByRole('button', { name: 'Close' }).click()
    await closed(page)
    assert.equal(search(page), '?outcome=refused')
    await focused(page.getByRole('heading', { level: 1 }))

    await openList(page, `?open=req_${'0'.repeat(32)}`)
    await drawerOf(page).getByText('This project has no record of the request').waitFor()
    await openList(page, `?open=${encodeURIComponent('"] <b>nonsense')}`)
    await drawerOf(page).getByText('nonsense').first().waitFor()
    await page.keyboard.press('Escape')
    await closed(page)
  },
)

const LOW = { as: 'owner', viewport: { width: WIDE.width, height: 420 } }

journey('the list keeps its filters and its place, and live refresh continues', LOW, async ({ page }) => {
  const busy = await service.project({ name: 'Busy' })
  const caller = await service.key(busy)
  const refuse = () => service.complete(caller.value, { messages: 'none' })
  const recorded = async (number) =>
    until(
      'they are recorded',
      async () => (await service.get(`projects/${busy.id}/requests`)).requests.length === number,
    )
  for (let i = 0; i < 9; i++) await refuse()
  await recorded(9)
  await page.clock.install()
  await page.goto(`/dashboard/projects/${busy.id}/requests?outcome=refused`)
  await page.getByText('9 requests', { exact: true }).waitFor()
  await page.getByRole('checkbox', { name: 'Live' }).check()
  await page.evaluate(() => scrollTo(0, 200))
  await page.locator('tbody tr').nth(3).getByRole('link').first().click()
  await drawerOf(page).waitFor()
  const id = new URL(page.url()).searchParams.get('open')
  assert.equal(await scrolled(page), 200)
  assert.equal(await page.getByLabel('Outcome').inputValue(), 'refused')
  await drawerOf(page).getByText('4 of 9', { exact: true }).waitFor()
  await page.mouse.move(1400, 200)
  const remedy = drawerOf(page).getByText('Remedy').first()
  const place = () => drawerOf(page).evaluate((drawer) => drawer.scrollTop)
  await drawerOf(page).evaluate((drawer) => drawer.scrollTo(0, 150))

  await refuse()
  await recorded(10)
  await page.clock.runFor(10_500)
  await drawerOf(page).getByText('5 of 10', { exact: true }).waitFor()
  await remedy.waitFor()
  assert.deepEqual([new URL(page.url()).searchParams.get('open'), await place()], [id, 150])

  await page.getByLabel('Outcome').selectOption('failed')
  await page.getByText('No requests match').waitFor()
  await shows(page, id)
  assert.deepEqual(search(page), `?outcome=failed&open=${id}`)
  await page.getByLabel('Outcome').selectOption('refused')
  await drawerOf(page).getByText('5 of 10', { exact: true }).waitFor()
  await page.locator('tbody tr').nth(1).getByRole('link').first().click()
  await drawerOf(page).getByText('2 of 10', { exact: true }).waitFor()
  assert.equal(await place(), 0, 'another request is shown from its beginning')
  await page.evaluate(() => scrollTo(0, 260))
  await page.goBack()
  await closed(page)
  assert.deepEqual([search(page), await scrolled(page)], ['?outcome=refused', 260])

  await page.locator('tbody tr').nth(2).getByRole('link').first().click()
  await drawerOf(page).waitFor()
  await page.getByLabel('Outcome').selectOption('')
  await page.evaluate(() => scrollTo(0, 230))
  await page.keyboard.press('Escape')
  await closed(page)
  assert.deepEqual([search(page), await scrolled(page)], ['', 230], 'a filter that was changed meanwhile stays')
})

journey('a request that newer ones push out of the list stays open', { as: 'viewer' }, async ({ page }) => {
  await openList(page, `?open=${served}`)
  await drawerOf(page).getByText(`${ids.length} of ${ids.length}`, { exact: true }).waitFor()
  await page.route(`**/api/admin/${base}/requests*`, async (route) => {
    const response = await route.fetch()
    const body = await response.json()
    await route.fulfill({ json: { ...body, requests: body.requests.filter(({ requestId }) => requestId !== served) } })
  })
  const loads = loadsOf(page)
  // The drawer hides the button from the pointer, but not from the keyboard.
  await page.getByRole('button', { name: 'Refresh' }).press('Enter')
  await page.getByText(`${ids.length - 1} requests`, { exact: true }).waitFor()
  await shows(page, served)
  await drawerOf(page).getByText('are recorded only of requests that were not served').waitFor()
  assert.deepEqual(loads, [''], 'its record is kept')
  await page.keyboard.press('Escape')
  await closed(page)
})

const widths = (page) => drawerOf(page).evaluate((drawer) => [drawer.getBoundingClientRect().width, innerWidth])
const PHONE = { as: 'owner', viewport: NARROW, hasTouch: true }

journey('on a phone, the drawer fills the screen and holds the focus', PHONE, async ({ page }) => {
  await openList(page)
  await row(page, failed).getByRole('link', { name: 'Provider error' }).tap()
  await shows(page, failed)
  assert.deepEqual(await widths(page), [NARROW.width, NARROW.width])
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  const inner = () => drawerOf(page).evaluate((drawer) => drawer.scrollWidth - drawer.clientWidth)
  assert.deepEqual([await overflow(), await inner()], [0, 0])
  const within = () =>
    drawerOf(page).evaluate((drawer) => drawer.matches(':modal') && drawer.contains(document.activeElement))
  assert.ok(await within())
  await page.setViewportSize(WIDE)
  await until('it is beside the list', async () => !(await within()))
  await shows(page, failed)
  await page.setViewportSize(MEDIUM)
  await until('it is modal again', within)
  await page.keyboard.press('Escape')
  await closed(page)
  assert.equal(search(page), '')
  await focused(row(page, failed).getByRole('link', { name: 'Provider error' }))
})

journey('Escape in the palette or the project menu closes only that', { as: 'owner' }, async ({ page }) => {
  await openList(page, `?open=${failed}`)
  await shows(page, failed)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Find' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('combobox', { name: 'Find' }).waitFor({ state: 'detached' })
  await shows(page, failed)
  const menu = page.getByRole('button', { name: 'Switch project' })
  await menu.click()
  await page.keyboard.press('Escape')
  await until('the menu is closed', async () => (await menu.getAttribute('aria-expanded')) === 'false')
  await shows(page, failed)
  await page.keyboard.press('Escape')
  await closed(page)
})

journey('the drawer slides in unless reduced motion is preferred', { as: 'viewer' }, async ({ page }) => {
  await openList(page, `?open=${failed}`)
  const animation = () => drawerOf(page).evaluate((drawer) => getComputedStyle(drawer).animationName)
  assert.equal(await animation(), 'none')
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  assert.equal(await animation(), 'slide')
})
