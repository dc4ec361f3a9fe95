// The violations of all projects.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)
const [sales, support] = [await withViolations('Sales', 1), await withViolations('Support', 2)]

/** A project in which the given number of keys sent a card number. */
async function withViolations(name, number) {
  const project = await service.project({ name, plan: 'guarded' })
  await service.admin('PUT', `projects/${project.id}/governor`, { enabled: true })
  for (let i = 0; i < number; i++) {
    const key = await service.key(project, { name: `Checkout ${i}` })
    const content = 'Charge 4111 1111 1111 1111'
    assert.equal((await service.complete(key.value, { messages: [{ role: 'user', content }] })).status, 200)
  }
  const list = () => service.get(`projects/${project.id}/violations`)
  await until('the violations are listed', async () => (await list()).violations.length === number)
  return { project, violations: (await list()).violations }
}

const heading = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor()
const table = (page) => page.getByRole('table', { name: 'Violations of all projects, newest first' })
const rows = (page) => table(page).getByRole('rowheader')

journey('from Home to the violations of today in two clicks', { as: 'viewer' }, async ({ page }) => {
  await page.goto('/dashboard')
  const strip = page.getByRole('list', { name: 'State' })
  await strip.getByRole('link').filter({ hasText: 'Open violations' }).click()
  await heading(page, 'All violations')
  assert.equal(new URL(page.url()).search, '?state=open&range=all')
  await until('all open violations are shown', async () => (await rows(page).count()) === 3)
  await page.getByRole('button', { name: 'Today' }).click()
  await page.getByText('2 projects searched').waitFor()
  assert.equal(new URL(page.url()).search, '?state=open')
  await until('those of today are shown', async () => (await rows(page).count()) === 3)
  assert.equal(await page.getByRole('button', { name: 'Today' }).getAttribute('aria-pressed'), 'true')

  const row = table(page).getByRole('row').filter({ hasText: 'Sales' })
  for (const text of ['personal.payment-card', 'high', 'review', 'Open']) await row.getByText(text).first().waitFor()
  const [violation] = sales.violations
  const at = `/dashboard/projects/${sales.project.id}`
  const links = await row.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')))
  for (const href of [at, `${at}/keys/${violation.key}`, `${at}/violations/${violation.id}`])
    assert.ok(links.includes(href), `${href} in ${links}`)
  await row.getByRole('rowheader').getByRole('link').click()
  await heading(page, 'Violation')
  await page.getByText(violation.requestId).waitFor()
})

journey('filters and the range are in the URL', { as: 'owner' }, async ({ page }) => {
  const [violation] = support.violations
  await service.admin('PATCH', `projects/${support.project.id}/violations/${violation.id}`, { state: 'resolved' })
  await page.goto('/dashboard/projects')
  await page.getByRole('link', { name: 'All violations' }).click()
  await until('all of today are shown', async () => (await rows(page).count()) === 3)
  await page.getByLabel('State').selectOption('resolved')
  await until('one is resolved', async () => (await rows(page).count()) === 1)
  await page.getByRole('button', { name: '7 days' }).click()
  await page.reload()
  await until('the URL keeps both', async () => (await rows(page).count()) === 1)
  assert.equal(new URL(page.url()).search, '?state=resolved&range=7d')
  await page.goBack()
  assert.equal(new URL(page.url()).search, '?state=resolved')
  await page.getByLabel('Category').selectOption('secret')
  await page.getByText('No violations match').waitFor()
  await page.getByLabel('Category').selectOption('')
  await page.getByLabel('Severity').selectOption('low')
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' }) // the message of the other filter may still be there
  await page.getByText('No violations match').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Find' }).fill('all viol')
  await page.getByRole('option', { name: 'All violations' }).click()
  await until('the palette leads to all of today', async () => (await rows(page).count()) === 3)
})

/** A stand-in violation from the given number of minutes ago. */
function violationOf(project, minutes) {
  const [violation] = sales.violations
  const at = new Date(Date.parse(violation.lastAt) - minutes * 60_000).toISOString()
  return { ...violation, id: `vio_${minutes}`, firstAt: at, lastAt: at, project }
}

journey('200 projects are searched to the end, the newest first', { as: 'owner' }, async ({ page }) => {
  const [first, last] = [
    { id: 'proj_1', name: 'The first' },
    { id: 'proj_200', name: 'The last' },
  ]
  const answers = {
    '': {
      violations: [violationOf(first, 5), violationOf(first, 9)],
      more: [first.id],
      searched: 33,
      next: 'proj_33/at_33x1',
    },
    'proj_33/at_33x1': { violations: [], more: [], searched: 66, next: 'proj_66/at_66x1' },
    'proj_66/at_66x1': {
      violations: [violationOf(last, 1), violationOf(last, 7)],
      more: [],
      searched: 200,
      next: null,
    },
  }
  const held = new Map() // the waiting calls by cursor
  await page.route(/\/api\/admin\/violations/, (route) => {
    const { searchParams } = new URL(route.request().url())
    const after = searchParams.get('after') ?? ''
    held.set(after, () => route.fulfill({ json: { from: searchParams.get('from'), ...answers[after] } }))
  })
  await page.route(/\/api\/admin\/projects\?/, (route) =>
    route.fulfill({ json: { projects: Array.from({ length: 200 }, (_, i) => ({ id: `proj_${i}` })), next: null } }),
  )
  const answer = async (after) => {
    await until(`the page asks on from ${after}`, () => held.has(after))
    await held.get(after)()
  }
  await page.goto('/dashboard/violations')
  await answer('')
  await page.getByText('33 of 200 projects searched').waitFor()
  assert.equal(await rows(page).count(), 2)
  await answer('proj_33/at_33x1')
  await page.getByText('66 of 200 projects searched').waitFor()
  await answer('proj_66/at_66x1')
  await page.getByText(/^200 projects searched/).waitFor()
  const ids = await rows(page)
    .getByRole('link')
    .evaluateAll((all) => all.map((link) => link.pathname.split('/').at(-1)))
  assert.deepEqual(ids, ['vio_1', 'vio_5', 'vio_7', 'vio_9'])
  await page.getByText('Only the newest 100 of The first are in the list.').waitFor()
  await page.getByText('4 violations', { exact: true }).waitFor()
})

journey('a search that fails is repeated', { as: 'owner' }, async ({ page }) => {
  await page.route(/\/api\/admin\/violations/, (route) =>
    route.fulfill({ status: 429, json: { error: 'Slow down', code: 'slow' } }),
  )
  await page.goto('/dashboard/violations')
  await page.getByText('Could not load violations').waitFor()
  await page.unroute(/\/api\/admin\/violations/)
  await page.getByRole('button', { name: 'Try again' }).click()
  await until('the violations are shown', async () => (await rows(page).count()) === 3)
})
