// User actions while a response is pending, and the page after the response arrives or fails.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

/** Holds the page's calls to a URL. Returns a function that releases them. */
async function hold(page, url, method = 'GET') {
  const { promise, resolve } = Promise.withResolvers()
  await page.route(url, async (route) => {
    if (route.request().method() === method) await promise
    await route.continue()
  })
  return resolve
}

/** Creates a project whose overview has charts. */
async function projectWithUsage() {
  const project = await service.project({ name: 'Used' })
  const key = await service.key(project)
  assert.equal((await service.complete(key.value)).status, 200)
  await until(
    'the usage is reported',
    async () => (await service.get(`projects/${project.id}/usage`)).totals.requests === 1,
  )
  return project
}

journey('hovering over a chart while a shorter range loads does not break it', { as: 'owner' }, async ({ page }) => {
  const project = await projectWithUsage()
  await page.goto(`/dashboard/projects/${project.id}`)
  const chart = (label) => page.getByRole('img', { name: new RegExp(`^Chart\\. Spend, ${label}`) })
  await chart('').waitFor()
  const release = await hold(page, '**/usage?*')
  await page.getByRole('button', { name: '7 days', exact: true }).click()
  const box = await chart('').boundingBox()
  await page.mouse.move(box.x + box.width - 20, box.y + box.height / 2)
  await page.locator('.chart-key b').first().waitFor()
  release()
  await chart('\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d to').waitFor()
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
  await page.locator('.chart-key b').first().waitFor({ state: 'detached' }) // the new chart has no hovered point
})

journey(
  'a URL with an impossible range shows another, or an error with its details',
  { as: 'owner' },
  async ({ page }) => {
    const project = await service.project({ name: 'Old' })
    for (const query of ['range=custom&from=2026-02-31&to=x', 'range=week', 'range=custom']) {
      await page.goto(`/dashboard/projects/${project.id}?${query}`)
      await page.getByText('No requests in this range').waitFor()
      assert.equal(await page.getByRole('button', { name: 'This month' }).getAttribute('aria-pressed'), 'true')
    }
    await page.goto(`/dashboard/projects/${project.id}?range=custom&from=2020-01-01T00:00:00Z&to=2020-01-01T01:00:00Z`)
    await page.getByText('Could not load usage').waitFor()
    await page.getByRole('alert').locator('li code').getByText('from', { exact: true }).waitFor()
    await page.getByRole('form', { name: 'Custom range' }).waitFor()
  },
)

journey('a rotated key is shown although Escape was pressed during the rotation', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Rotating' })
  await service.key(project, { name: 'Old' })
  await page.goto(`/dashboard/projects/${project.id}/keys`)
  await page.getByRole('button', { name: 'Rotate Old' }).click()
  const dialog = page.getByRole('dialog')
  const release = await hold(page, '**/rotate', 'POST')
  const sent = page.waitForRequest('**/rotate')
  await dialog.getByRole('button', { name: 'Rotate', exact: true }).click()
  await sent
  for (let i = 0; i < 3; i++) await page.keyboard.press('Escape')
  assert.equal(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled(), true)
  release()
  const value = dialog.getByRole('group', { name: 'New API key' }).locator('code')
  assert.match(await value.textContent(), /^sk_live_\w{20,}$/)

  for (let i = 0; i < 3; i++) await page.keyboard.press('Escape')
  await page.mouse.click(5, 5) // a click outside the dialog takes the focus away from it
  for (let i = 0; i < 3; i++) await page.keyboard.press('Escape')
  assert.equal(await value.isVisible(), true)
  await page.getByRole('link', { name: 'I’ve saved this key' }).click()
  await page.getByRole('heading', { name: 'Key Old' }).waitFor()
})

journey('a dialog can be closed after its request failed', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Unlucky' })
  await service.key(project, { name: 'Old' })
  await page.goto(`/dashboard/projects/${project.id}/keys`)
  await page.route('**/rotate', (route) => route.fulfill({ status: 429, json: { error: 'Slow down', code: 'slow' } }))
  await page.getByRole('button', { name: 'Rotate Old' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Rotate', exact: true }).click()
  await dialog.getByRole('alert').getByText('Slow down').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
})

/** Rejects the page's calls to a URL. Returns a function that stops rejecting. */
async function reject(page, url) {
  await page.route(url, (route) => route.fulfill({ status: 429, json: { error: 'Slow down', code: 'slow' } }))
  return () => page.unroute(url)
}

journey('a range that fails to load does not show another range’s figures', { as: 'owner' }, async ({ page }) => {
  const project = await projectWithUsage()
  await page.goto(`/dashboard/projects/${project.id}`)
  const tiles = page.getByLabel('Totals', { exact: true })
  await tiles.waitFor()
  const allow = await reject(page, '**/usage?*')
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByText('Could not load usage').waitFor()
  assert.equal(await tiles.isVisible(), true, 'the figures of the same range stay')

  const refused = page.waitForResponse('**/usage?*') // the message of the refresh may still be there
  await page.getByRole('button', { name: '24 hours', exact: true }).click()
  await tiles.waitFor({ state: 'detached' })
  await refused
  await page.getByText('Could not load usage').waitFor()
  await allow()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('img', { name: /^Chart\. Spend, \d{4}-\d\d-\d\d \d\d:\d\d to / }).waitFor()
})

journey('a search that fails does not show another search’s results', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Searched' })
  await service.key(project, { name: 'Needle' })
  await page.goto(`/dashboard/projects/${project.id}/keys`)
  const needle = page.getByRole('rowheader', { name: 'Needle' })
  await needle.waitFor()
  const release = await hold(page, '**/keys?*')
  await page.getByLabel('Search by name').fill('hay')
  await page.locator('[aria-busy=true]').filter({ has: needle }).waitFor()
  release()
  await page.getByText('No keys match').waitFor()
  const allow = await reject(page, '**/keys?*')
  await page.getByLabel('Search by name').fill('needle')
  await page.getByText('Could not load API keys').waitFor()
  assert.equal(await page.getByText('No keys match').count(), 0)
  await allow()
  await page.getByRole('button', { name: 'Try again' }).click()
  await needle.waitFor()
})

/** Fails the page's calls to the admin API. Returns a function that ends the outage. */
async function breakServer({ page, expected }, status) {
  expected.push(/Failed to load resource/)
  const url = '**/api/admin/**'
  await page.route(url, (route) =>
    status === 0
      ? route.abort('connectionrefused')
      : route.fulfill({ status, json: { error: 'Service unavailable', code: 'service_unavailable' } }),
  )
  return () => page.unroute(url)
}

for (const [status, title] of [
  [0, 'The server cannot be reached'],
  [503, 'The server failed: Service unavailable'],
]) {
  journey(
    `an outage with status ${status} has one message, and the page recovers by itself`,
    { as: 'owner' },
    async (visit) => {
      const { page } = visit
      const project = await projectWithUsage()
      await page.goto(`/dashboard/projects/${project.id}`)
      const tiles = page.getByLabel('Totals', { exact: true })
      await tiles.waitFor()
      const repair = await breakServer(visit, status)
      await page.getByRole('button', { name: 'Refresh' }).click()
      const alert = page.getByRole('alert')
      await alert.getByText(title).waitFor()
      assert.equal(await tiles.isVisible(), true, 'the figures of the same range stay')

      await page.getByRole('link', { name: 'Requests', exact: true }).click() // this page loads a project, requests and keys
      await page.getByRole('status').getByText('Loading').first().waitFor()
      await alert.getByText(title).waitFor()
      assert.equal(await alert.count(), 1)
      assert.equal(await page.getByRole('button', { name: /^Try/ }).count(), 1)
      await repair()
      await page.getByRole('table', { name: /^Recent requests/ }).waitFor()
      await alert.waitFor({ state: 'detached' })
    },
  )
}

journey('an outage while the page is opened ends at “Try now”', { as: 'owner' }, async (visit) => {
  const { page } = visit
  const repair = await breakServer(visit, 503)
  await page.goto('/dashboard/models')
  await page.getByText(/Next try in [48] s/).waitFor() // the pauses grow
  await repair()
  await page.getByRole('button', { name: 'Try now' }).click()
  await page.getByRole('table', { name: 'Models' }).waitFor()
  await page.getByRole('alert').waitFor({ state: 'detached' }) // when all loads have succeeded
})

/**
 * Holds the page's calls to the admin API. Returns the paths of the calls so far, and a function that releases the
 * calls.
 */
async function holdAll(page) {
  const paths = new Set()
  const { promise, resolve } = Promise.withResolvers()
  await page.route('**/api/admin/**', async (route) => {
    const { pathname, searchParams } = new URL(route.request().url())
    paths.add(`${pathname.replace('/api/admin/', '')} ${searchParams.get('by') ?? ''}`.trim())
    await promise
    await route.continue().catch(() => {})
  })
  return { paths, release: resolve }
}

journey('the loads of a page run side by side, and the shell is there first', { as: 'owner' }, async ({ page }) => {
  const project = await projectWithUsage()
  const base = `projects/${project.id}`
  for (const [path, loads, content] of [
    [base, [base, `${base}/usage day`, `${base}/usage model`], 'By model'],
    [`${base}/settings`, [base, 'catalog'], 'Budget (USD)'],
    [`${base}/routes`, [base, `${base}/routes`], 'Provider'],
    [`${base}/keys`, [base, `${base}/keys`], 'Rotate'],
    [`${base}/requests`, [base, `${base}/requests`, `${base}/keys`, 'catalog'], 'nickel'],
    [`${base}/governor`, [base, `${base}/governor`, 'governor/rules'], 'Auto-approve threshold'],
    ['audit', ['audit', 'projects'], 'project'],
  ]) {
    const { paths, release } = await holdAll(page)
    await page.goto(`/dashboard/${path}`)
    await page.getByRole('navigation').getByRole('link', { name: 'Audit log' }).waitFor()
    await page.getByRole('status').getByText('Loading').first().waitFor()
    const expected = ['session', ...loads].sort()
    await until(`${path}: ${expected}`, () => [...paths].sort().join() === expected.join())
    release()
    await page.getByRole('main').getByText(content).first().waitFor()
    await page.unrouteAll({ behavior: 'wait' })
  }
})

for (const role of ['owner', 'viewer']) {
  journey(`nothing can be changed before the session is known: ${role}`, { as: role }, async ({ page }) => {
    const project = await service.project({ name: 'Early' })
    const release = await hold(page, '**/api/admin/session')
    await page.goto(`/dashboard/projects/${project.id}/settings`)
    const save = page.getByRole('button', { name: 'Save settings' })
    await save.waitFor()
    const note = page.getByText('You are signed in as a viewer')
    assert.deepEqual([await save.isDisabled(), await note.count()], [true, 0])
    release()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    const name = page.getByLabel('Name', { exact: true })
    assert.deepEqual([await name.isDisabled(), await note.count()], role === 'owner' ? [false, 0] : [true, 1])
  })
}

journey(
  'a page that is opened without a session leads to the sign-in, without another message',
  {},
  async ({ page }) => {
    const project = await service.project({ name: 'Guarded' })
    const release = await hold(page, '**/api/admin/session')
    const refused = page.waitForResponse(`**/api/admin/projects/${project.id}`)
    await page.goto(`/dashboard/projects/${project.id}`)
    assert.equal((await refused).status(), 401)
    assert.deepEqual([await page.getByRole('dialog').count(), await page.getByRole('alert').count()], [0, 0])
    release()
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
  },
)

journey(
  'live refresh shows new requests, can be switched off, and waits for a dialog',
  { as: 'owner' },
  async ({ page }) => {
    const project = await service.project({ name: 'Lively' })
    await page.clock.install()
    await page.goto(`/dashboard/projects/${project.id}/requests`)
    await page.getByText('No requests yet').waitFor()
    let loads = 0
    page.on('request', (request) => {
      if (new URL(request.url()).pathname.endsWith('/requests')) loads++
    })
    const live = page.getByRole('checkbox', { name: 'Live' })
    assert.equal(await live.isChecked(), false)
    await page.clock.runFor(60_000)
    assert.equal(loads, 0, 'off until it is switched on')
    await live.check()
    const key = await service.key(project)
    assert.equal((await service.complete(key.value)).status, 200)
    await until(
      'the request is listed',
      async () => (await service.get(`projects/${project.id}/requests`)).requests.length === 1,
    )
    await page.clock.runFor(10_500)
    await page.getByRole('row').nth(1).waitFor()

    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('dialog').waitFor()
    const before = loads
    await page.clock.runFor(60_000)
    assert.equal(loads, before, 'nothing changes under a dialog')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    await page.reload()
    assert.equal(await live.isChecked(), true, 'the browser keeps the choice')
    await page.getByRole('row').nth(1).waitFor() // the first load has begun and ended
    await live.uncheck()
    await until('no load is under way', async () => (await page.locator('[aria-busy=true]').count()) === 0)
    const last = loads
    await page.clock.runFor(60_000)
    assert.equal(loads, last, 'off again')
  },
)

journey('live refresh of requests pauses while they are used, and by a button', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Read closely' })
  const key = await service.key(project)
  assert.equal((await service.complete(key.value)).status, 200)
  await page.clock.install()
  await page.goto(`/dashboard/projects/${project.id}/requests`)
  const row = page.getByRole('row').nth(1)
  await row.waitFor()
  let loads = 0
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.endsWith('/requests')) loads++
  })
  const heading = page.getByRole('heading', { level: 1 })
  const paused = page.getByText('Paused', { exact: true })
  const pauses = async (name, take, leave) => {
    await take()
    await paused.waitFor()
    const before = loads
    await page.clock.runFor(60_000)
    assert.equal(loads, before, name)
    await leave()
    await paused.waitFor({ state: 'hidden' })
    await until(`a load follows: ${name}`, () => loads > before)
    await until('it is complete', async () => (await page.locator('[aria-busy=true]').count()) === 0)
  }
  await row.hover()
  assert.equal(await paused.count(), 0, 'live refresh is off')
  assert.equal(await page.getByRole('button', { name: 'Pause' }).count(), 0)
  await page.getByRole('checkbox', { name: 'Live' }).check()

  await pauses(
    'the pointer is in the table',
    () => row.hover(),
    () => heading.hover(),
  )
  await pauses(
    'the focus is in the table',
    () => row.getByRole('link').first().focus(),
    () => page.evaluate(() => document.activeElement.blur()),
  )
  await pauses(
    'a text is selected',
    () => heading.selectText(),
    () => page.evaluate(() => getSelection().removeAllRanges()),
  )
  await pauses(
    'the button is pressed',
    () => page.getByRole('button', { name: 'Pause' }).click(),
    () => page.getByRole('button', { name: 'Resume' }).click(),
  )
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('checkbox', { name: 'Live' }).uncheck()
  await paused.waitFor({ state: 'hidden' })
})

journey('live refresh works without storage, until the page is closed', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Unstored' })
  await page.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new Error('blocked')
    }
  })
  await page.clock.install()
  await page.goto(`/dashboard/projects/${project.id}/requests`)
  await page.getByText('No requests yet').waitFor()
  const live = page.getByRole('checkbox', { name: 'Live' })
  await live.check()
  const again = page.waitForRequest((request) => new URL(request.url()).pathname.endsWith('/requests'))
  await page.clock.runFor(10_500)
  await again
  await page.reload()
  assert.equal(await live.isChecked(), false)
})
