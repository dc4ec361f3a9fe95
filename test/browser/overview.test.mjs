// The home page: the state of all projects, and the status of providers.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { MEDIUM, NARROW, startBrowser } from './browser.mjs'
import { projectName } from './crowd.mjs'
import { startService, until } from './service.mjs'
import { overviewInTrouble } from './standin.mjs'

const service = await startService()
const { journey } = await startBrowser(service)
const project = await service.project({ name: 'Measured', budget: 10 })

/** Sends three requests of a key that fail at their provider, and one that another provider serves. */
async function fail() {
  const key = await service.key(project, { name: 'Caller' })
  const next = { kind: 'status', status: 503, family: 'openai', times: 6 }
  await fetch(`${service.upstream}/__fake/next`, { method: 'POST', body: JSON.stringify(next) })
  const ask = (fields, content) => service.complete(key.value, { ...fields, messages: [{ role: 'user', content }] })
  for (let i = 0; i < 3; i++) assert.equal((await ask({ quality: 'cheap' }, `Question ${i}`)).status, 502)
  assert.equal((await ask({ model: 'farthing' }, 'Another')).status, 200)
  const reported = async () => {
    const { totals, status } = await service.get('overview')
    return totals.requests === 4 && status.failingProviders.length === 1
  }
  await until('the failures are in the overview', reported)
}

const failures = fail() // projects report to the overview every half minute
failures.catch(() => undefined) // the last test awaits it

/** Responds to the page's overview calls with a stand-in, as of shortly before "now". Returns the queries. */
async function trouble(page, change = () => undefined, now = Date.now()) {
  const asked = []
  await page.route(/\/api\/admin\/overview/, (route) => {
    const { searchParams } = new URL(route.request().url())
    asked.push(searchParams.toString())
    const report = overviewInTrouble({ range: searchParams.get('range'), now, id: () => project.id })
    report.projects.forEach((row, i) => {
      row.projectId = i === 0 ? project.id : `proj_${i}`
    })
    change(report)
    return route.fulfill({ json: report })
  })
  return asked
}

const table = (page) => page.getByRole('table', { name: 'All projects' })
const firstProject = (page) => table(page).getByRole('rowheader').first().locator('.name').getAttribute('title')
const part = (page, name) => page.getByRole('list', { name: 'State' }).getByRole('link').filter({ hasText: name })

async function tile(page, name) {
  const frame = page.locator('.tile').filter({ has: page.getByText(name, { exact: true }) })
  return [await frame.locator('.tile-value').textContent(), await frame.locator('.tile-before').textContent()]
}

journey('one request shows the state of 200 projects, each part with a link', { as: 'viewer' }, async ({ page }) => {
  const now = Date.now()
  await page.clock.setFixedTime(now) // the report has the same age, however long the page takes
  const asked = await trouble(page, undefined, now)
  await page.goto('/dashboard')
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  await table(page).waitFor()
  assert.match(await page.title(), /^Home · Postern$/)
  assert.deepEqual(asked, ['range=24h'])
  assert.equal(await table(page).getByRole('rowheader').count(), 200)
  await page.getByText(/^As of 2\d s ago\. Below/).waitFor()
  assert.deepEqual(await tile(page, 'Spend'), ['$12.50', 'before: $10.00, +25%'])
  assert.deepEqual(await tile(page, 'Failed'), ['50', 'before: 10, +400%'])
  assert.deepEqual(await tile(page, 'Refused'), ['100', 'before: 100, no change'])
  for (const [name, text] of [
    ['Serving', '85%'],
    ['Providers failing', '1openai'],
    ['Budgets over 80%', '201 used up'],
    ['Refusals rising', '120this hour; 20 in the hour before'],
    ['Open violations', '4'],
    ['Unknown keys', '17refused with 401, in no project’s figures; 3 other requests without a known key'],
  ]) {
    assert.ok((await part(page, name).textContent()).startsWith(name + text), name)
  }
  await page.getByRole('img', { name: /^Chart\. Spend, \d{4}-.*Cost: \$0\.50 to \$0\.50/ }).waitFor()
  await page.getByRole('table', { name: 'Top API keys by cost' }).getByText('deleted key').waitFor()
  await page
    .getByRole('table', { name: 'Top models by cost' })
    .getByRole('row', { name: /^nickel ?openai \$5\.00 500 1\.2\d* s 1\.2\d* s 500 0 0%$/ })
    .waitFor()
  await page.getByText('openai is failing: in this range, 47 of 547 attempts failed (8.6%).').waitFor()

  await part(page, 'Providers failing').click()
  await page.getByRole('heading', { level: 1, name: 'Provider status' }).waitFor()
  await page.goBack()
  await part(page, 'Budgets over 80%').click()
  await until('the most used budget is first', async () => (await firstProject(page)) === projectName(0))
  assert.equal(new URL(page.url()).search, '?sort=-budget-used')
  await until('the table has the focus', () => page.evaluate(() => document.activeElement.id === 'all-projects'))
  assert.equal(await part(page, 'Open violations').getAttribute('href'), '/dashboard/violations?state=open&range=all')
  const violations = table(page).getByRole('link', { name: '4', exact: true })
  assert.equal(await violations.getAttribute('href'), '/dashboard/projects/proj_7/violations?state=open')
})

journey('projects are filtered by name and sorted, by keyboard', { as: 'owner' }, async ({ page }) => {
  await trouble(page)
  await page.goto('/dashboard')
  await page.getByLabel('Filter by name').fill('frankfurt project 7')
  await page.getByText('5 of 200 projects match').waitFor()
  await page.getByLabel('Filter by name').fill('no such')
  await page.getByText('No projects match').waitFor()
  await page.getByLabel('Filter by name').fill('oslo')
  await table(page).getByRole('button', { name: 'Spend' }).focus()
  await page.keyboard.press('Enter')
  await until('the most expensive is first', async () => (await firstProject(page)) === projectName(2))
  await page.keyboard.press('Enter')
  await until('a project without traffic is first', async () => (await firstProject(page)) === projectName(9))
  assert.deepEqual(
    [...new URL(page.url()).searchParams],
    [
      ['q', 'oslo'],
      ['sort', 'spend'],
    ],
  )
  await page.reload()
  await until('the URL keeps both', async () => (await firstProject(page)) === projectName(9))
  const cells = table(page).getByRole('row').nth(1)
  await cells.getByText('never').waitFor()
  await cells.getByText('none').waitFor()
  const line = table(page).getByRole('img').first()
  assert.match(await line.getAttribute('aria-label'), /^\d+ requests, at most 6 per hour, \d in the last$/)
})

journey(
  'the table stays a table down to 600 px, and fits a phone',
  { as: 'owner', viewport: MEDIUM },
  async ({ page }) => {
    await trouble(page)
    await page.goto('/dashboard')
    await table(page).waitFor()
    const display = () => table(page).evaluate((element) => getComputedStyle(element).display)
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.deepEqual([await display(), await overflow()], ['table', 0])
    const frame = page.locator('.table-frame').filter({ has: table(page) })
    await frame.evaluate((element) => element.scrollTo({ left: 10_000, behavior: 'instant' }))
    const name = table(page).getByRole('rowheader').first()
    const [outer, inner] = [await frame.boundingBox(), await name.boundingBox()]
    assert.ok(Math.abs(outer.x - inner.x) < 2, 'the name stays in view')
    await page.setViewportSize(NARROW)
    assert.deepEqual([await display(), await overflow()], ['block', 0])
  },
)

journey('without traffic, and without projects', { as: 'owner' }, async ({ page }) => {
  await trouble(page, (report) => Object.assign(report, { projects: [] }))
  await page.goto('/dashboard')
  await page.getByText('Create your first project').waitFor()
})

journey('live refresh loads the overview again', { as: 'owner' }, async ({ page }) => {
  const asked = await trouble(page)
  await page.clock.install()
  await page.goto('/dashboard?range=7d')
  await table(page).waitFor()
  await page.getByLabel('Live').check()
  await page.clock.runFor(11_000)
  await until('a second load', () => asked.length >= 2)
  assert.ok(asked.every((query) => query === 'range=7d'))
})

journey('Home and Provider status show a failing provider', { as: 'viewer' }, async ({ page }) => {
  await failures
  await page.goto('/dashboard')
  await page.getByText(/openai is failing: in this range, [3-6] of [3-6] attempts failed \(100%\)/).waitFor()
  assert.ok((await part(page, 'Serving').textContent()).startsWith('Serving25%of 4 requests; 3 failed'))
  await page.getByText(/^As of (\d+ s|\d min) ago\./).waitFor()
  const row = table(page).getByRole('row').filter({ hasText: 'Measured' })
  await row.getByRole('img', { name: /^4 requests, at most 4 per hour, [0-4] in the last$/ }).waitFor()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'All projects, CSV' }).click(),
  ])
  const lines = (await readFile(await file.path(), 'utf8')).split(/\r?\n/)
  assert.match(lines[0], /^projectId,project,/)
  assert.ok(lines.some((line) => line.startsWith(`${project.id},Measured,10,`)))
  const [both] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'With the range before, CSV' }).click(),
  ])
  const rows = (await readFile(await both.path(), 'utf8')).split(/\r?\n/)
  assert.match(rows[0], /^from,to,projectId,project,/)
  assert.equal(rows.filter((line) => line.includes(`,${project.id},Measured,10,`)).length, 2)

  await page.getByRole('button', { name: '2 hours' }).click()
  const model = page.getByRole('table', { name: 'Top models by cost' }).getByRole('row').nth(1)
  await until('the model has its latency', async () => /\d m?s/.test(await model.textContent()))
  assert.equal(new URL(page.url()).search, '?range=2h')
  await page.getByRole('button', { name: 'Custom' }).click()
  await page.getByLabel('Times of day').check()
  await page.getByRole('button', { name: 'Show range' }).click()
  await page.getByText(/^\d{4}-\d\d-\d\d 00:00 to (\d\d:00|.* 00:00)/).waitFor()
  await page.goBack()
  await page.goBack()
  await until('back returns to the range before', () => new URL(page.url()).search === '?range=2h')
  await row.getByRole('link', { name: 'Measured' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  assert.match(new URL(page.url()).search, /^\?range=custom&from=.*%3A00%3A00.000Z&to=/)
  const failed = page.getByRole('link', { name: 'Provider error' }).first()
  assert.match(await failed.getAttribute('href'), /requests\?cause=\w+&from=.*Z&to=.*Z$/)

  await page.goto('/dashboard/providers')
  const provider = (name) => page.getByRole('table', { name: 'Providers' }).getByRole('row').filter({ hasText: name })
  await page.getByText('that all gateway instances have recorded').waitFor()
  await provider(/[3-6] of [3-6] failed/)
    .getByText('failing', { exact: true })
    .waitFor()
  await provider('0 of 1 failed').getByText('healthy', { exact: true }).waitFor()
  assert.equal(await page.getByRole('table').getByRole('rowheader').first().textContent(), 'openai')
  await page.getByRole('button', { name: '30 days' }).click()
  await page.getByText(/^\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d \(UTC\)$/).waitFor()
  assert.equal(new URL(page.url()).search, '?range=30d')
})
