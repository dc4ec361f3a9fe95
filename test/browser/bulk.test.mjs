// Bulk actions on API keys and violations.
import assert from 'node:assert/strict'
import { NARROW, startBrowser } from './browser.mjs'
import { longName } from './crowd.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const keysOf = (project) => `/dashboard/projects/${project.id}/keys`
/** The time that a run of 104 changes, one after another, may take on a busy machine. */
const RUN_MS = 120_000
const bar = (page) => page.getByRole('group', { name: /^Actions for the selected/ })
const dialogOf = (page) => page.getByRole('dialog')
const named = (page, label) => dialogOf(page).getByRole('list', { name: label, exact: true })
const pick = (page, name) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true })
const pickAll = (page) => page.getByRole('checkbox', { name: 'Select all shown' })

/** A project whose keys have these names. They are created a few at a time. */
async function projectWith(names) {
  const project = await service.project({ name: 'Many' })
  const keys = []
  for (let i = 0; i < names.length; i += 4) {
    keys.push(...(await Promise.all(names.slice(i, i + 4).map((name) => service.key(project, { name })))))
  }
  return { project, keys }
}

const stored = async (project, status) =>
  (await service.get(`projects/${project.id}/keys?limit=100&status=${status}`)).keys.map(({ name }) => name).sort()

/** Counts the changes that the page requests, by path. */
function counted(page) {
  const counts = new Map()
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (request.method() !== 'GET') counts.set(pathname, (counts.get(pathname) ?? 0) + 1)
  })
  return counts
}

/** Presses the bar's button, then the dialog's. */
async function run(page, action, noun) {
  await bar(page).getByRole('button', { name: action, exact: true }).click()
  await dialogOf(page)
    .getByRole('button', { name: `${action} ${noun}` })
    .click()
}

const report = (page, text) => dialogOf(page).getByText(text, { exact: true }).waitFor()
const close = (page) => dialogOf(page).getByRole('button', { name: 'Close' }).click()
const selected = (page, text) => bar(page).getByText(text, { exact: true }).waitFor()

journey(
  '104 keys are deactivated; failures are named, stay selected, and are tried again',
  { as: 'owner' },
  async (visit) => {
    const { page } = visit
    visit.expected.push(/status of 500/, /net::ERR_FAILED/)
    const names = Array.from({ length: 104 }, (_, i) => longName(`Key ${String(i).padStart(3, '0')}`))
    const { project, keys } = await projectWith(names)
    const counts = counted(page)
    const at = (i) => `/api/admin/projects/${project.id}/keys/${keys[i].id}/deactivate`
    const once = { times: 1 }
    await page.route(
      `**${at(20)}`,
      (route) => route.fulfill({ status: 409, json: { error: 'Conflict', code: 'conflict' } }),
      once,
    )
    await page.route(
      `**${at(50)}`,
      (route) => route.fulfill({ status: 500, json: { error: 'Internal error', code: 'internal_error' } }),
      once,
    )
    const lost = async (route) => {
      await route.fetch()
      await route.abort()
    }
    await page.route(`**${at(70)}`, lost, once)

    await page.goto(keysOf(project))
    await page.getByText('50 keys loaded').waitFor()
    await pickAll(page).check()
    await selected(page, '50 keys selected')
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click()
    await page.getByText('104 keys', { exact: true }).waitFor()
    await selected(page, '50 keys selected')
    assert.equal(await pickAll(page).evaluate((box) => box.indeterminate), true)
    await pickAll(page).check()
    await bar(page).getByRole('button', { name: 'Deactivate 104', exact: true }).click()
    assert.equal(await named(page, 'Deactivate 104 keys').getByRole('listitem').count(), 104)
    await dialogOf(page).getByRole('button', { name: 'Deactivate 104 keys' }).dblclick()

    const outcome = '101 keys deactivated, 3 failed. The rest stays selected.'
    await dialogOf(page).getByText(outcome, { exact: true }).waitFor({ timeout: RUN_MS })
    const failed = named(page, 'Failed').getByRole('listitem')
    for (const [i, reason] of [
      [20, 'Someone else changed it at the same time'],
      [50, 'Internal error. The list shows the outcome.'],
      [70, 'Could not reach the server. The list shows the outcome.'],
    ]) {
      await failed.filter({ hasText: names[i] }).getByText(reason).waitFor()
    }
    await dialogOf(page).getByText('Deactivated: 101').click()
    assert.equal(await named(page, 'Deactivated').getByRole('listitem').count(), 101)
    await close(page)
    await selected(page, '3 keys selected')
    // The response for key 70 was lost, but the key is deactivated.
    await run(page, 'Deactivate 2', 'keys')
    await report(page, '2 keys deactivated.')
    await close(page)
    await bar(page).waitFor({ state: 'detached' })
    await until('the heading has the focus', () =>
      page.getByRole('heading', { level: 1 }).evaluate((heading) => heading === document.activeElement),
    )
    assert.deepEqual(await stored(project, 'active'), [])
    const tries = keys.map((_, i) => counts.get(at(i)))
    assert.deepEqual(
      tries,
      keys.map((_, i) => ([20, 50].includes(i) ? 2 : 1)),
    )
  },
)

journey('an action says what it leaves alone, and deleted keys leave the list', { as: 'owner' }, async ({ page }) => {
  const { project, keys } = await projectWith(['One', 'Two', 'Three', 'Four'])
  await service.admin('POST', `projects/${project.id}/keys/${keys[1].id}/deactivate`)
  await page.goto(keysOf(project))
  await pickAll(page).check()
  await pick(page, 'Four').uncheck()
  await selected(page, '3 keys selected')
  await bar(page).getByRole('button', { name: 'Deactivate 2', exact: true }).click()
  await dialogOf(page).getByText('Left as it is: 1 other selected key').waitFor()
  assert.deepEqual((await named(page, 'Deactivate 2 keys').getByRole('strong').allTextContents()).sort(), [
    'One',
    'Three',
  ])
  await dialogOf(page).getByRole('button', { name: 'Cancel' }).click()
  await bar(page).getByRole('button', { name: 'Delete 3', exact: true }).click()
  await dialogOf(page).getByText('2 of them active').waitFor()
  await service.admin('DELETE', `projects/${project.id}/keys/${keys[0].id}`)
  await dialogOf(page).getByRole('button', { name: 'Delete 3 keys' }).click()
  await report(page, '2 keys deleted, 1 failed. The rest stays selected.')
  await named(page, 'Failed').getByText('It no longer exists.').waitFor()
  await close(page)
  await page.getByText('1 key', { exact: true }).waitFor()
  await bar(page).waitFor({ state: 'detached' })
  assert.deepEqual(await stored(project, ''), ['Four'])
})

journey('a run is stopped: the keys without a try stay selected', { as: 'owner' }, async ({ page }) => {
  const { project } = await projectWith(['A', 'B', 'C'])
  await page.goto(keysOf(project))
  const { promise, resolve } = Promise.withResolvers()
  await page.route('**/deactivate', async (route) => {
    await promise
    await route.continue()
  })
  await pickAll(page).check()
  const first = page.waitForRequest('**/deactivate')
  await run(page, 'Deactivate 3', 'keys')
  await first
  await page.keyboard.press('Escape')
  assert.equal(await dialogOf(page).getByRole('progressbar').getAttribute('value'), '0')
  await dialogOf(page).getByRole('button', { name: 'Stop' }).click()
  resolve()
  await report(page, '1 key deactivated, 2 not tried. The rest stays selected.')
  await close(page)
  await selected(page, '2 keys selected')
  assert.equal((await stored(project, 'inactive')).length, 1)
})

journey('another filter drops the selection', { as: 'owner' }, async ({ page }) => {
  const { project } = await projectWith(['Left', 'Right'])
  await page.goto(keysOf(project))
  await pick(page, 'Left').check()
  await selected(page, '1 key selected')
  await page.getByLabel('Kind').selectOption('gateway')
  await bar(page).waitFor({ state: 'detached' })
  await page.getByLabel('Kind').selectOption('')
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' }) // both filters list the same keys
  await page.getByText('2 keys', { exact: true }).waitFor()
  assert.equal(await pick(page, 'Left').isChecked(), false)
  await pick(page, 'Right').check()
  await bar(page).getByRole('button', { name: 'Clear selection' }).click()
  await bar(page).waitFor({ state: 'detached' })
  assert.equal(await pickAll(page).evaluate((box) => box === document.activeElement), true)
})

/** The accessible name of the focused element. */
const focused = (page) =>
  page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim())

journey('by keyboard alone', { as: 'owner' }, async ({ page }) => {
  const { project } = await projectWith(['Kept', 'Gone'])
  await page.goto(keysOf(project))
  await pick(page, 'Gone').focus()
  await page.keyboard.press('Space')
  await selected(page, '1 key selected')
  await page.getByText('1 key selected', { exact: true }).first().waitFor()
  await page.keyboard.press('Enter')
  assert.equal(await focused(page), 'Deactivate 1')
  await page.keyboard.press('Enter')
  await dialogOf(page).waitFor()
  assert.equal(await focused(page), 'Cancel', 'the safe button has the focus')
  await page.keyboard.press('Tab')
  assert.equal(await focused(page), 'Deactivate 1 key')
  await page.keyboard.press('Enter')
  await report(page, '1 key deactivated.')
  await until('the button that closes has the focus', async () => (await focused(page)) === 'Close')
  await page.keyboard.press('Enter')
  await until('the heading has the focus', async () => (await focused(page)) === 'API keys')
  assert.deepEqual(await stored(project, 'inactive'), ['Gone'])
})

journey('on a phone', { as: 'owner', viewport: NARROW, hasTouch: true }, async ({ page }) => {
  const { project } = await projectWith([longName('First'), longName('Second')])
  await page.goto(keysOf(project))
  await page.getByText('2 keys', { exact: true }).waitFor()
  await pickAll(page).waitFor() // appears when the session is known
  for (const box of await page.locator('.pick-box').all()) {
    const { height } = await box.boundingBox()
    assert.ok(height >= 40, `${height}`)
  }
  await pickAll(page).tap()
  await selected(page, '2 keys selected')
  await pick(page, longName('First')).tap()
  await bar(page).getByRole('button', { name: 'Deactivate 1', exact: true }).tap()
  await dialogOf(page).getByRole('button', { name: 'Deactivate 1 key' }).tap()
  await report(page, '1 key deactivated.')
  await dialogOf(page).getByRole('button', { name: 'Close' }).tap()
  assert.deepEqual(await stored(project, 'inactive'), [longName('Second')])
})

journey('viewers select nothing', { as: 'viewer' }, async ({ page }) => {
  const { project } = await projectWith(['Seen'])
  await page.goto(keysOf(project))
  await page.getByText('You are signed in as a viewer').waitFor()
  await page.getByRole('link', { name: 'Seen' }).waitFor()
  assert.equal(await page.getByRole('checkbox', { name: /^Select/ }).count(), 0)
})

/** A governed project with three violations: two of one key and one of another. */
async function projectWithViolations() {
  const project = await service.project({ name: 'Watched', plan: 'guarded' })
  const base = `projects/${project.id}`
  await service.admin('PUT', `${base}/governor`, { enabled: true })
  const [one, other] = [await service.key(project, { name: 'One' }), await service.key(project, { name: 'Other' })]
  for (const [key, content] of [
    [one, 'Charge 4111 1111 1111 1111'],
    [one, 'Use AKIAQYLPMN5HHHFPZAM2'],
    [other, 'Use AKIAQYLPMN5HHHFPZAM2'],
  ]) {
    await service.complete(key.value, { quality: 'cheap', messages: [{ role: 'user', content }] })
  }
  const violations = await until('the violations are listed', async () => {
    const { violations } = await service.get(`${base}/violations`)
    return violations.length === 3 && violations
  })
  return { base, violations }
}

journey(
  'violations are triaged; one that someone else changed is named, and tried again',
  { as: 'owner' },
  async ({ page }) => {
    const { base, violations } = await projectWithViolations()
    const states = async () => {
      const now = (await service.get(`${base}/violations`)).violations
      return violations.map(({ id }) => now.find((one) => one.id === id).state)
    }
    await page.goto(`/dashboard/${base}/violations`)
    await pickAll(page).check()
    await selected(page, '3 violations selected')
    await service.admin('PATCH', `${base}/violations/${violations[1].id}`, {
      state: 'acknowledged',
      note: 'Mine',
      version: 1,
    })
    await run(page, 'Acknowledge 3', 'violations')
    await report(page, '2 violations acknowledged, 1 failed. The rest stays selected.')
    const failed = named(page, 'Failed').getByRole('listitem')
    await failed.filter({ hasText: violations[1].rule }).getByText('Someone else changed it at the same time').waitFor()
    await close(page)
    await selected(page, '1 violation selected')
    await bar(page).getByRole('button', { name: 'Reopen 1', exact: true }).waitFor() // the list is loaded again
    const offers = await bar(page).getByRole('button').allTextContents()
    assert.deepEqual(offers, ['Resolve 1', 'Mark as false positive 1', 'Reopen 1', 'Clear selection'])
    await run(page, 'Resolve 1', 'violation')
    await report(page, '1 violation resolved.')
    await close(page)
    assert.deepEqual(await states(), ['acknowledged', 'resolved', 'acknowledged'])
    assert.equal((await service.get(`${base}/violations/${violations[1].id}`)).note, 'Mine')

    await pickAll(page).check()
    await run(page, 'Mark as false positive 2', 'violations')
    await report(page, '2 violations marked as false positives.')
    await close(page)
    assert.deepEqual(await states(), ['false_positive', 'resolved', 'false_positive'])
  },
)
