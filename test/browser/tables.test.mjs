// Tables at every width, with names of 120 characters.
import assert from 'node:assert/strict'
import { NARROW, startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)
const LONG = `${'Customer-support-'.repeat(7)}x`.padEnd(120, 'y')
const WIDTHS = [1440, 1000, 861, 860, 700, 600]

const project = await service.project({ name: LONG })
const key = await service.key(project, { name: LONG })
await service.key(project, { name: 'Short' })
const KEYS = `/dashboard/projects/${project.id}/keys`

const pickAll = (page) => page.getByRole('checkbox', { name: 'Select all shown' })

/** The left and right edges of an element, in pixels of the viewport. */
const edges = (locator) =>
  locator.evaluate((element) => {
    const { left, right } = element.getBoundingClientRect()
    return { left: Math.round(left), right: Math.round(right) }
  })

/** Fails unless a table's first cell and last button can be seen and clicked at both ends of the scroll range. */
async function checkInView(page, table, name, width) {
  const frame = page.locator('.table-frame').filter({ has: table })
  for (const end of [0, 10_000]) {
    await frame.evaluate((element, left) => element.scrollTo({ left, behavior: 'instant' }), end)
    const outer = await edges(frame)
    for (const button of await page.getByRole('button', { name }).all()) {
      const { left, right } = await edges(button)
      assert.ok(left >= outer.left && right <= Math.min(outer.right, width), `${width}: ${left} to ${right}`)
      await button.click({ trial: true })
    }
    const first = await edges(table.getByRole('rowheader').first())
    assert.ok(first.left >= outer.left && first.right < outer.right, `${width}: the first column`)
  }
}

journey(
  'a name of 120 characters moves no action out of view, and no column away',
  { as: 'owner' },
  async ({ page }) => {
    await page.goto(KEYS)
    const table = page.getByRole('table')
    await pickAll(page).waitFor() // a column that appears when the session is known
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      assert.equal(await table.evaluate((element) => getComputedStyle(element).display), 'table', `${width}`)
      await checkInView(page, table, /^(Deactivate|Rotate|Delete)/, width)
    }
  },
)

journey('a cut name has a tooltip, is whole at the focus, and whole on its page', { as: 'owner' }, async ({ page }) => {
  for (const [path, heading] of [
    [KEYS, `Key ${LONG}`],
    ['/dashboard/projects', 'Overview'],
  ]) {
    await page.goto(path)
    const link = page.getByRole('rowheader').getByRole('link', { name: LONG, exact: true }).first()
    const isCut = () => link.evaluate((element) => element.scrollWidth > element.clientWidth)
    await link.waitFor()
    assert.equal(await link.getAttribute('title'), LONG)
    assert.equal(await isCut(), true)
    await page.getByRole('link', { name: 'Skip to content' }).focus()
    await page.keyboard.press('Tab') // from now on, the browser treats the focus as set by the keyboard
    await link.focus()
    assert.equal(await isCut(), false)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    await page.getByText(LONG).last().waitFor()
  }
})

journey(
  'a table that scrolls takes the focus for the arrow keys, another does not',
  { as: 'owner' },
  async ({ page }) => {
    await page.setViewportSize({ width: 600, height: 900 })
    await page.goto(KEYS)
    const frame = page.getByRole('group', { name: /^API keys of .* scrolls sideways$/ })
    await frame.focus()
    await frame.evaluate((element) => {
      window.scrolled = new Promise((resolve) => element.addEventListener('scroll', () => resolve(), { once: true }))
    })
    await page.keyboard.press('ArrowRight')
    await page.evaluate(() => window.scrolled)
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto('/dashboard/projects')
    await page.getByRole('table').waitFor()
    assert.equal(await page.locator('.table-frame[tabindex]').count(), 0)
  },
)

const TOUCH = { as: 'owner', viewport: NARROW, hasTouch: true }

journey('below 600 pixels, rows are cards that are used by touch', TOUCH, async ({ page }) => {
  await page.goto(KEYS)
  const table = page.getByRole('table')
  await pickAll(page).waitFor()
  assert.equal(await table.evaluate((element) => getComputedStyle(element).display), 'block')
  for (const target of await table.locator('button, a').all()) {
    const { height } = await target.boundingBox()
    assert.ok(height >= 40, `${await target.textContent()}: ${height}`)
  }
  await page.getByRole('button', { name: `Rotate ${LONG}` }).tap()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).tap()
  await page.getByRole('link', { name: LONG, exact: true }).tap()
  await page.getByRole('heading', { name: `Key ${LONG}` }).waitFor()
  assert.equal(new URL(page.url()).pathname, `${KEYS}/${key.id}`)
})

/**
 * Responds to filtered reads of the audit log: first two pages without a match, then one with a match, then the end.
 * Records the cursors.
 */
async function sparseLog(page) {
  const cursors = []
  const second = Promise.withResolvers()
  const entry = { id: 'aud_match', time: '2026-02-03T04:05:06.000Z', actor: 'the one who changed it', role: 'owner' }
  const pages = {
    '': { entries: [], next: 'aud_a' },
    aud_a: { entries: [], next: 'aud_b' },
    aud_b: {
      entries: [
        { ...entry, via: 'session', action: 'violation.triage', project: project.id, after: { violation: 'vio_1' } },
      ],
      next: 'aud_c',
    },
    aud_c: { entries: [], next: null },
  }
  const unread = {
    aud_a: '2026-03-01T00:00:00.000Z',
    aud_b: '2026-02-10T00:00:00.000Z',
    aud_c: '2026-02-03T00:00:00.000Z',
  }
  await page.route('**/api/admin/audit?**', async (route) => {
    const query = new URL(route.request().url()).searchParams
    const after = query.get('after') ?? ''
    if (!query.has('project')) return route.fulfill({ json: { entries: [{ time: unread[after] }], next: null } })
    cursors.push(after)
    if (after === 'aud_b') await second.promise
    return route.fulfill({ json: pages[after] }).catch(() => {}) // the page may have stopped reading
  })
  return { cursors, goOn: second.resolve }
}

const MATCHES = `/dashboard/audit?project=${project.id}&action=project`

journey('a filtered page without matches reads on, and says how far it looked', { as: 'owner' }, async ({ page }) => {
  const { cursors, goOn } = await sparseLog(page)
  await page.goto(MATCHES)
  const status = page.locator('.more').getByRole('status')
  await status.getByText('No entries so far, looked back to 2026-02-10 00:00:00 UTC. Reading on…').waitFor()
  assert.equal(await page.getByText('No entries match').count(), 0)
  goOn()
  await status.getByText('1 entry loaded, looked back to 2026-02-03 00:00:00 UTC').waitFor()
  await page.getByRole('row').getByText('the one who changed it').waitFor()
  assert.deepEqual(cursors, ['', 'aud_a', 'aud_b'], 'a page with a match is enough')
  const violation = page.getByRole('link', { name: 'vio_1' })
  assert.equal(await violation.getAttribute('href'), `/dashboard/projects/${project.id}/violations/vio_1`)
  await page.getByRole('button', { name: 'Show more' }).click()
  await status.getByText('1 entry', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0)
})

journey(
  'reading on can be stopped and continued, and without any match the page says so',
  { as: 'owner' },
  async ({ page }) => {
    const { goOn } = await sparseLog(page)
    await page.goto(MATCHES)
    await page.getByText('Reading on…').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Reading on…').waitFor({ state: 'detached' })
    goOn()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByRole('row').getByText('the one who changed it').waitFor()
    await page.route('**/api/admin/audit?**', (route) => route.fulfill({ json: { entries: [], next: null } }))
    await page.getByLabel('Event type').selectOption('key')
    await page.getByText('No entries match').waitFor()
  },
)

journey('lists of keys and projects are complete, however many pages they have', { as: 'owner' }, async ({ page }) => {
  const sizes = []
  // The responses are the server's own, but each page has only one item.
  await page.route(/api\/admin\/.*limit=100/, (route) => {
    sizes.push(route.request().url())
    return route.continue({ url: route.request().url().replace('limit=100', 'limit=1') })
  })
  const third = await service.key(project, { name: 'The third' })
  await service.project({ name: 'Another' })
  for (const [path, label, name] of [
    [`/dashboard/projects/${project.id}/requests`, 'API key', 'The third'],
    [`/dashboard/projects/${project.id}/violations`, 'API key', 'The third'],
    ['/dashboard/audit', 'Project', 'Another'],
  ]) {
    await page.goto(path)
    await page.getByLabel(label).locator('option', { hasText: name }).waitFor({ state: 'attached' })
  }
  assert.ok(
    sizes.some((url) => url.includes('after=')),
    'there were further pages',
  )
  await service.admin('DELETE', `projects/${project.id}/keys/${third.id}`)
})

/** The first words of a table's rows, in order. */
const rowNames = (table) =>
  table.getByRole('rowheader').evaluateAll((cells) => cells.map((cell) => cell.textContent.trim()).join())

/** Clicks a column's header and checks its direction and the rows. */
async function sortBy(table, label, direction, order) {
  const header = table.getByRole('columnheader', { name: label })
  await header.getByRole('button').click()
  await until(`${label} ${direction}: ${order}`, async () => (await rowNames(table)) === order)
  assert.equal(await header.getAttribute('aria-sort'), direction)
  assert.equal(await table.locator('[aria-sort]').count(), direction ? 1 : 0)
}

journey(
  'keys are sorted by their headers, all pages of them, and the URL keeps the order',
  { as: 'owner' },
  async ({ page }) => {
    const sorting = await service.project({ name: 'Sorted' })
    for (const [name, expiresAt] of [
      ['key 10', '2031-01-01T00:00:00.000Z'],
      ['key 9', null],
      ['Key 1', '2030-01-01T00:00:00.000Z'],
    ]) {
      await service.key(sorting, { name, expiresAt })
    }
    // The responses are the server's own, but each page has only one key.
    await page.route('**/keys?*', (route) => {
      const url = new URL(route.request().url())
      url.searchParams.set('limit', '1')
      return route.continue({ url: url.href })
    })
    await page.route('**/keys', (route) => route.continue({ url: `${route.request().url()}?limit=1` }))
    await page.goto(`/dashboard/projects/${sorting.id}/keys`)
    const table = page.getByRole('table')
    await page.getByText('1 key loaded').waitFor()
    await sortBy(table, 'Name', 'ascending', 'Key 1,key 9,key 10')
    await page.getByText('3 keys', { exact: true }).waitFor()
    await sortBy(table, 'Name', 'descending', 'key 10,key 9,Key 1')
    assert.equal(new URL(page.url()).search, '?sort=-name')
    await page.reload()
    await until('the same order', async () => (await rowNames(table)) === 'key 10,key 9,Key 1')
    await sortBy(table, 'Expires', 'ascending', 'Key 1,key 10,key 9')
    await sortBy(table, 'Expires', 'descending', 'key 10,Key 1,key 9')
    await sortBy(table, 'Expires', null, await rowsOf(sorting))
    assert.equal(new URL(page.url()).search, '')
    assert.equal(await table.getByRole('columnheader', { name: 'Actions' }).getByRole('button').count(), 0)
  },
)

/** The names of a project's keys, in the API's order. */
async function rowsOf({ id }) {
  return (await service.get(`projects/${id}/keys`)).keys.map(({ name }) => name).join()
}

journey('usage is sorted by model or key, by keyboard, and on a phone', TOUCH, async ({ page }) => {
  for (const [quality, times] of [
    ['cheap', 2],
    ['frontier', 1],
  ]) {
    for (let i = 0; i < times; i++) {
      const messages = [{ role: 'user', content: `${quality} ${i}` }]
      assert.equal((await service.complete(key.value, { quality, messages })).status, 200)
    }
  }
  const at = `projects/${project.id}`
  await until('the usage is reported', async () => (await service.get(`${at}/usage`)).totals.requests === 3)
  await page.goto(`/dashboard/${at}?sort=model&sort-providers=__proto__`)
  const table = page.getByRole('table', { name: 'Usage by model' })
  await table.waitFor()
  assert.equal(await rowNames(table), 'dime,nickel')
  await table.getByRole('button', { name: 'Requests' }).tap()
  await until('most requests first', async () => (await rowNames(table)) === 'nickel,dime')
  await page.setViewportSize({ width: 1440, height: 900 })
  await table.getByRole('button', { name: 'Requests' }).focus()
  await page.keyboard.press('Enter')
  await until('fewest requests first', async () => (await rowNames(table)) === 'dime,nickel')
  const { searchParams } = new URL(page.url())
  assert.deepEqual([searchParams.get('sort'), searchParams.get('sort-providers')], ['requests', '__proto__'])
})

journey('requests, violations and the registry are sorted by their headers', { as: 'owner' }, async ({ page }) => {
  const mixed = await service.project({ name: 'Mixed', plan: 'guarded' })
  const base = `projects/${mixed.id}`
  await service.admin('PUT', `${base}/governor`, { enabled: true })
  const caller = await service.key(mixed, { name: 'Caller' })
  for (const [quality, content] of [
    ['frontier', 'Hello'],
    ['cheap', 'Charge 4111 1111 1111 1111'],
    ['cheap', 'Use AKIAQYLPMN5HHHFPZAM2'],
  ]) {
    await service.complete(caller.value, { quality, messages: [{ role: 'user', content }] })
  }
  const listed = async (list) => (await service.get(`${base}/${list}`))[list].length
  await until('the requests are listed', async () => (await listed('requests')) >= 2)
  await until('the violations are listed', async () => (await listed('violations')) === 2)
  /** The texts of a column's cells, joined. */
  const column = (table, label) =>
    table
      .locator(`[data-label="${label}"]`)
      .evaluateAll((cells) => cells.map((cell) => cell.querySelector('.name, code, .badge')?.textContent).join())
  /** Clicks a header twice. The second order must be the reverse of the first, with more than one value. */
  const bothWays = async (label) => {
    const table = page.getByRole('table')
    const header = table.getByRole('columnheader', { name: label })
    await header.getByRole('button').click()
    await until('one order', async () => (await header.getAttribute('aria-sort')) !== null)
    const first = await column(table, label)
    await header.getByRole('button').click()
    const reverse = first.split(',').reverse().join()
    assert.notEqual(reverse, first)
    await until(`${label}: ${reverse}`, async () => (await column(table, label)) === reverse)
  }
  for (const [at, label] of [
    ['requests', 'Model'],
    ['violations', 'Rule'],
    ['registry', 'Model'],
  ]) {
    await page.goto(`/dashboard/${base}/${at}`)
    await page.getByRole('table').waitFor()
    await bothWays(label)
    assert.match(new URL(page.url()).search, /^\?sort=-/)
  }
})
