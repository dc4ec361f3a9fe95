// Time ranges, their comparison, and the time zone of all times.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)
const project = await service.project({ name: 'Timed', budget: 10 })
const at = `/dashboard/projects/${project.id}`
await seed()

/** Sends three requests of one key to two models. */
async function seed() {
  const key = await service.key(project, { name: 'Caller' })
  for (const quality of ['cheap', 'cheap', 'frontier']) {
    const messages = [{ role: 'user', content: `A ${quality} question ${Math.random()}` }]
    assert.equal((await service.complete(key.value, { quality, messages })).status, 200)
  }
  const counted = async (query) => (await service.get(`projects/${project.id}/usage${query}`)).totals.requests === 3
  await until('the usage is reported', async () => (await counted('')) && (await counted('?range=1h')))
  await until('the requests are listed', async () => {
    const { requests } = await service.get(`projects/${project.id}/requests`)
    return requests.length === 3
  })
}

const button = (page, name) => page.getByRole('button', { name, exact: true })
const pressed = async (page, name) => (await button(page, name).getAttribute('aria-pressed')) === 'true'
const queryOf = (page) => new URL(page.url()).search

journey('range, grouping and comparison are steps of the browser’s history', { as: 'owner' }, async ({ page }) => {
  await page.goto(`${at}/keys`)
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('table', { name: 'Usage by model' }).waitFor()
  await button(page, '24 hours').click()
  await page.getByText(/^\d{4}-\d\d-\d\d \d\d:\d0 to \d{4}-\d\d-\d\d \d\d:\d0 \(UTC\)$/).waitFor()
  await button(page, '30 days').click()
  await page.getByText(/^\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d \(UTC\)$/).waitFor()
  await button(page, 'API key').click()
  await page.getByRole('table', { name: 'Usage by API key' }).waitFor()
  await page.getByLabel('Compare with the range before').check()
  await page.getByText('before: $0.00').waitFor()
  await page.getByRole('img', { name: /^Chart\. Spend, .*Cost: .*Range before: / }).waitFor()
  assert.equal(queryOf(page), '?range=30d&by=key&compare=true')
  await page.reload()
  await page.getByText('before: $0.00').waitFor()

  await page.goBack()
  await page.getByText('before: $0.00').waitFor({ state: 'detached' })
  await page.goBack()
  await page.getByRole('table', { name: 'Usage by model' }).waitFor()
  await page.goBack()
  await until('the range before', () => pressed(page, '24 hours'))
  await page.goBack()
  await until('the page’s own range', () => pressed(page, 'This month'))
  assert.equal(queryOf(page), '')
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
})

journey('the last hour is shown by the minute, by provider, and downloaded', { as: 'viewer' }, async ({ page }) => {
  await page.goto(at)
  await button(page, 'Last hour').focus()
  await page.keyboard.press('Enter')
  // The range has times of day, unlike the month before.
  await page
    .getByRole('img', { name: /^Chart\. Requests, \d{4}-\d\d-\d\d \d\d:\d\d to .*Total: 0 to [123];/ })
    .waitFor()
  const latency = page.locator('.tile').filter({ hasText: 'Latency (p95)' }).locator('.tile-value')
  assert.match(await latency.textContent(), /^\d+/)
  await page.getByText('Show chart data as a table').click()
  const minutes = page.getByRole('table', { name: /^Usage by minute/ })
  await minutes.getByRole('columnheader', { name: 'Minute (UTC)' }).waitFor()
  assert.ok((await minutes.getByRole('row').count()) > 60)
  await button(page, 'Provider').click()
  const row = page
    .getByRole('table', { name: 'Usage by provider' })
    .getByRole('row', { name: /^openai 3 3 0 0 0 \$0\.20/ })
  await row.waitFor()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'This table, CSV' }).click(),
  ])
  const [head, first] = (await readFile(await file.path(), 'utf8')).split(/\r?\n/)
  assert.match(head, /^provider,requests,/)
  assert.match(first, /^openai,3,/)
  assert.equal(await page.getByRole('link', { name: 'By day, key and model, CSV' }).count(), 0)
})

journey('a custom range has days, or times of day', { as: 'owner' }, async ({ page }) => {
  await page.goto(at)
  await button(page, 'Custom').click()
  const form = page.getByRole('form', { name: 'Custom range' })
  await form.getByLabel('From (UTC)').fill('2026-01-02')
  await form.getByLabel('To (UTC)').fill('2026-01-01')
  await form.getByRole('button', { name: 'Show range' }).click()
  await form.getByText('Enter an end after the start.').waitFor()
  await form.getByLabel('To (UTC)').fill('2026-01-03')
  await page.keyboard.press('Enter')
  await page.getByText('2026-01-02 to 2026-01-03 (UTC)').waitFor()
  await page.getByText('No requests in this range').waitFor()

  const today = new Date().toISOString().slice(0, 10)
  await form.getByLabel('Times of day').check()
  await form.getByLabel('From (UTC)').fill(`${today}T00:00`)
  const soon = new Date(Date.now() + 1_200_000).toISOString().slice(0, 16)
  await form.getByLabel('To (UTC)').fill(soon)
  await form.getByRole('button', { name: 'Show range' }).click()
  await page.getByRole('table', { name: 'Usage by model' }).waitFor()
  assert.match(queryOf(page), /^\?range=custom&from=\d{4}-\d\d-\d\dT00%3A00%3A00Z&to=/)
  await page.goBack()
  await page.getByText('2026-01-02 to 2026-01-03 (UTC)').waitFor()
})

const INDIA = { as: 'owner', timezoneId: 'Asia/Kolkata' }

journey('all times follow the chosen zone, also after a reload', INDIA, async ({ page }) => {
  const { requests } = await service.get(`projects/${project.id}/requests`)
  const shown = (shiftMs) =>
    new Date(Date.parse(requests[0].time) + shiftMs).toISOString().slice(0, 19).replace('T', ' ')
  await page.goto(`${at}/requests`)
  await page.getByRole('columnheader', { name: 'Time (UTC)' }).waitFor()
  await page.getByText(shown(0)).first().waitFor()
  await page.getByLabel('Times').selectOption('local')
  await page.getByRole('columnheader', { name: 'Time (local time)' }).waitFor()
  await page
    .getByText(shown(5.5 * 3_600_000))
    .first()
    .waitFor()
  await page.reload()
  await page
    .getByText(shown(5.5 * 3_600_000))
    .first()
    .waitFor()
  await page.getByText(/^Updated at \d\d:\d\d:\d\d local time$/).waitFor()

  await page.goto(`${at}?range=24h`)
  await page.getByText(/^\d{4}-.* to \d{4}-.* \(local time\)$/).waitFor()
  await page.getByText('Show chart data as a table').click()
  const hours = page.getByRole('table', { name: /^Usage by hour/ })
  assert.match(await hours.getByRole('rowheader').first().textContent(), /^\d{4}-\d\d-\d\d \d\d:30$/)
  await button(page, '30 days').click()
  await page
    .getByRole('table', { name: /^Usage by day/ })
    .getByRole('columnheader', { name: 'Day (UTC)' })
    .waitFor()
  await page.getByLabel('Times').selectOption('UTC')
  await button(page, '24 hours').click()
  assert.match(await hours.getByRole('rowheader').first().textContent(), /:00$/)
})
