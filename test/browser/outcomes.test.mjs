// Unserved requests: their figures, their list, their pages, and searching for one of them.
import assert from 'node:assert/strict'
import { NARROW, startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const project = await service.project({ name: 'Mixed', budget: 2 })
const base = `projects/${project.id}`
const elsewhere = await service.project({ name: 'Elsewhere' })
const caller = await service.key(project, { name: 'Caller' })
const limited = await service.key(project, { name: 'Limited', limits: { requestsPerDay: 1 } })
/** The causes that this file provokes, by status. */
const CAUSES = { 400: 'invalid_request', 402: 'budget', 429: 'rate_limit', 502: 'provider_unavailable' }
/** The sent requests: their numbers by status, and the last ID for each status. */
const sent = { numbers: {}, ids: {}, total: 0 }
const question = (text) => ({ messages: [{ role: 'user', content: text }] })
const usage = async () => (await service.get(`${base}/usage`)).totals
const listed = async (query) => (await service.get(`${base}/requests?limit=100${query}`)).requests
await sendAll()

async function send(key, fields) {
  const response = await service.complete(key.value, fields)
  const { status } = response
  sent.numbers[status] = (sent.numbers[status] ?? 0) + 1
  sent.ids[status] = response.headers.get('x-request-id')
  sent.total++
  return response
}

async function failNext(status, family, times) {
  const command = { kind: 'status', status, family, times }
  const response = await fetch(`${service.upstream}/__fake/next`, { method: 'POST', body: JSON.stringify(command) })
  assert.equal(response.status, 204)
}

/**
 * Sends requests with different outcomes: served; refused because of the body, a limit or the budget; and failed at
 * two targets.
 */
async function sendAll() {
  const targets = ['groat', 'farthing'].map((model) => ({ model }))
  await service.admin('PATCH', base, { routes: { cheap: { strategy: 'ordered', targets } } })
  await failNext(503, 'openai', 2)
  await failNext(529, 'anthropic', 2)
  const failed = await send(caller, { quality: 'cheap', ...question('All targets fail') })
  assert.equal(failed.status, 502)
  assert.match(
    failed.headers.get('x-postern-attempts'),
    /^4; openai\/groat=503, openai\/groat=503, anthropic\/farthing=529/,
  )
  for (const text of ['One', 'Two']) await send(caller, { model: 'nickel', ...question(text) })
  for (let i = 0; i < 3; i++) await send(caller, { model: 'nickel', messages: 'none' })
  for (let i = 0; i < 3; i++) await send(limited, { model: 'nickel', ...question(`Limited ${i}`) })
  await service.admin('PATCH', base, { budget: 0.01 })
  const over = async (i) => (await send(caller, { model: 'nickel', ...question(`Over ${i}`) })).status === 402
  for (let i = 0, refused = 0; i < 40 && refused < 5; i++) if (await over(i)) refused++
  assert.deepEqual([sent.numbers[400], sent.numbers[402], sent.numbers[429], sent.numbers[502]], [3, 5, 2, 1])
  await until('all are counted', async () => (await usage()).requests === sent.total)
  await until('all are recorded', async () => (await listed('')).length === sent.total)
}

const REFUSED = 10

/** A tile of the overview: value, exact value, and note. */
async function tile(page, name) {
  const frame = page.locator('.tile').filter({ has: page.getByText(name, { exact: true }) })
  const value = frame.locator('.tile-value')
  return [await value.textContent(), await value.getAttribute('title'), await frame.locator('.tile-note').textContent()]
}

/** The texts of a table's rows, in the columns with these labels. */
const cells = (table, labels) =>
  table
    .locator('tbody tr')
    .evaluateAll(
      (rows, labels) =>
        rows.map((row) =>
          labels.map((label) => row.querySelector(`[data-label="${label}"]`).textContent.trim()).join(),
        ),
      labels,
    )

const FIGURES = ['Requests', 'Served', 'Refused', 'Failed', 'Left']
const percent = (part) => `${Number(((part / sent.total) * 100).toFixed(1))}%`

journey('tiles, tables, chart, list and API have the same figures', { as: 'owner' }, async ({ page }) => {
  const served = sent.numbers[200]
  const totals = await usage()
  const causes = Object.fromEntries(Object.entries(CAUSES).map(([status, cause]) => [cause, sent.numbers[status]]))
  assert.deepEqual(totals.outcomes, { served, refused: REFUSED, failed: 1, left: 0, causes })
  const figures = [sent.total, served, REFUSED, 1, 0]

  await page.goto(`/dashboard/${base}`)
  await page.getByRole('heading', { name: 'By model' }).waitFor()
  const [value, meaning, note] = await tile(page, 'Requests')
  assert.deepEqual([value, note], [String(sent.total), `${served} served`])
  assert.match(meaning, /served, also from the cache, refused, failed, or left/)
  const refused = `${percent(REFUSED)} of all, mostly: Over the budget`
  assert.deepEqual(await tile(page, 'Refused'), [String(REFUSED), String(REFUSED), refused])
  assert.deepEqual(await tile(page, 'Failed'), ['1', '1', `${percent(1)} of all, mostly: Provider error`])
  assert.equal((await page.getByText('Error rate').count()) + (await page.getByText('Left by the client').count()), 0)

  const byCause = page.getByRole('table', { name: 'Requests not served, by cause' })
  assert.deepEqual(await cells(byCause, ['Cause', 'Outcome', 'Requests', 'Share of all']), [
    `Over the budget,Refused,5,${percent(5)}`,
    `Invalid request,Refused,3,${percent(3)}`,
    `Over a rate limit,Refused,2,${percent(2)}`,
    `Provider error,Failed,1,${percent(1)}`,
  ])
  for (const by of ['model', 'API key']) {
    await page.getByRole('button', { name: by, exact: false }).first().click()
    await page.getByRole('table', { name: `Usage by ${by}` }).waitFor()
    const rows = await cells(page.getByRole('table', { name: `Usage by ${by}` }), FIGURES)
    const sums = FIGURES.map((_, i) => rows.reduce((sum, row) => sum + Number(row.split(',')[i]), 0))
    assert.deepEqual(sums, figures, by)
  }
  await page.getByText('Show chart data as a table').click()
  const byDay = page.getByRole('table', { name: /^Usage by day/ })
  await byDay.waitFor()
  const days = await cells(byDay, [...FIGURES, 'Not served'])
  assert.equal(days.at(-1), [...figures, percent(REFUSED + 1)].join())
  await page
    .getByRole('img', { name: new RegExp(`^Chart\\. Requests, .*Total: 0 to ${sent.total}; Served: 0 to ${served}`) })
    .waitFor()
  await page.getByRole('img', { name: /Requests not served, .*Refused: 0 to 10; Failed: 0 to 1/ }).waitFor()

  await byCause.getByRole('link', { name: 'Over the budget' }).click()
  await page.getByText('5 requests', { exact: true }).waitFor()
  assert.equal(await page.getByLabel('Cause').inputValue(), 'budget')
  await page.goBack()
  await page
    .locator('.tile')
    .getByRole('link', { name: String(REFUSED), exact: true })
    .click()
  await page.getByText(`${REFUSED} requests`, { exact: true }).waitFor()
  assert.equal((await listed('&outcome=refused')).length, REFUSED)
})

journey('requests are filtered by outcome and cause, and the URL keeps it', { as: 'owner' }, async ({ page }) => {
  await page.goto(`/dashboard/${base}/requests`)
  await page.getByText(`${sent.total} requests`, { exact: true }).waitFor()
  await page.getByText('at least the last 10,000, of refusals at most 20 a minute and key').waitFor()
  const { causes } = (await usage()).outcomes
  for (const [cause, number] of Object.entries(causes)) {
    await page.getByLabel('Cause').selectOption(cause)
    await page.getByText(`${number} request${number === 1 ? '' : 's'}`, { exact: true }).waitFor()
  }
  await page.getByLabel('Cause').selectOption('')
  await page.getByLabel('Outcome').selectOption('failed')
  await page.getByText('1 request', { exact: true }).waitFor()
  assert.equal(new URL(page.url()).search, '?outcome=failed')
  await page.reload()
  assert.equal(await page.getByLabel('Outcome').inputValue(), 'failed')
  await page.locator('#request-models option[value=groat]').waitFor({ state: 'attached' })
  await page.locator('#request-providers option[value=openai]').waitFor({ state: 'attached' })
  const link = page.getByRole('row').getByRole('link', { name: 'Provider error' })
  await link.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByRole('link', { name: 'Open page' }).click()
  await page.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor()
  await until('the heading has the focus', () => page.evaluate(() => document.activeElement.tagName === 'H1'))
  assert.equal(new URL(page.url()).pathname, `/dashboard/${base}/requests/${sent.ids[502]}`)
})

/** A time in minutes from now, in the format of a date and time input. */
const inMinutes = (minutes) => new Date(Date.now() + minutes * 60_000).toISOString().slice(0, 16)

journey('requests are filtered by a range of times, and the URL keeps it', { as: 'viewer' }, async ({ page }) => {
  await page.goto(`/dashboard/${base}/requests`)
  const listed = (number) => page.getByText(`${number} requests`, { exact: true }).waitFor()
  await listed(sent.total)
  const [from, before] = [page.getByLabel('From (UTC)'), page.getByLabel('Before (UTC)')]
  const [past, future] = [inMinutes(-300), inMinutes(300)]
  await from.fill(future)
  await page.getByText('No requests match').waitFor()
  await from.fill(past)
  await before.fill(future)
  await listed(sent.total)
  assert.equal(new URL(page.url()).search, `?${new URLSearchParams({ from: past, to: future })}`)
  await page.getByLabel('Outcome').selectOption('refused')
  await listed(REFUSED)
  await page.reload()
  assert.deepEqual([await from.inputValue(), await before.inputValue()], [past, future])
  await listed(REFUSED)
  await page.goto(`/dashboard/${base}/requests?to=${past}:00Z`)
  await page.getByText('No requests match').waitFor()
  assert.equal(await before.inputValue(), past)
  await before.fill('')
  await listed(sent.total)
  await page.goto(`/dashboard/${base}/requests?from=${past.slice(0, 10)}&to=${future.slice(0, 10)}`)
  await listed(sent.total)
})

journey('a blocked request leads to its violations', { as: 'viewer' }, async ({ page }) => {
  const governed = await service.project({ name: 'Governed', plan: 'guarded' })
  const keyword = { name: 'codenames', severity: 'high', input: 'block', words: ['bluefin'] }
  await service.admin('PUT', `projects/${governed.id}/governor`, { enabled: true, keywords: [keyword] })
  const key = await service.key(governed, { name: 'Careless' })
  const blocked = await service.complete(key.value, question('About bluefin'))
  assert.equal(blocked.status, 422)
  const list = async (name) => (await service.get(`projects/${governed.id}/${name}`))[name]
  await until('it is recorded', async () => (await list('requests')).length === 1)
  await until('its violation is stored', async () => (await list('violations')).length === 1)
  await page.goto(`/dashboard/projects/${governed.id}/requests/${blocked.headers.get('x-request-id')}`)
  await page.getByRole('link', { name: 'keyword.codenames' }).click()
  await page.getByRole('heading', { level: 1, name: 'Violations' }).waitFor()
  await page.getByText('1 violation', { exact: true }).waitFor()
  assert.equal(await page.getByLabel('Rule').inputValue(), 'keyword.codenames')
})

const fact = (page, name) =>
  page
    .locator('.fact-list > div')
    .filter({ has: page.getByText(name, { exact: true }) })
    .locator('dd')
    .first()

journey('a failed request shows its attempts, what followed them, and a remedy', { as: 'owner' }, async ({ page }) => {
  await page.goto(`/dashboard/${base}/requests/${sent.ids[502]}`)
  const table = page.getByRole('table', { name: 'Attempts, oldest first' })
  await table.waitFor()
  const rows = await cells(table, ['Attempt', 'Target', 'Result', 'What followed'])
  assert.deepEqual(rows, [
    '1,groatopenai,503, an error of the provider,tried again',
    '2,groatopenai,503, an error of the provider,fell back to farthing',
    '3,farthinganthropic,529, an error of the provider,tried again',
    '4,farthinganthropic,529, an error of the provider,no further target',
  ])
  const card = page.getByRole('region', { name: 'What happened' })
  await card.getByText('Failed', { exact: true }).waitFor()
  await card.getByText('Provider error').first().waitFor()
  assert.equal(await fact(page, 'Remedy').textContent(), 'Repeat the request; details says what the provider did.')
  assert.equal(await fact(page, 'Requested model').textContent(), 'cheap')
  assert.equal(await fact(page, 'Model used').textContent(), 'farthing')
  await fact(page, 'API key').getByText('Caller', { exact: true }).waitFor() // the name may arrive after the request
  assert.equal(await fact(page, 'API key').textContent(), 'Caller')
  assert.equal(await fact(page, 'Type').textContent(), 'overloaded_error')
  const curl = await page.getByRole('region', { name: 'curl' }).locator('code').textContent()
  assert.match(curl, /^curl -X POST http:\/\/127\.0\.0\.1:\d+\/api\/ai\/complete /)
  assert.match(curl, /X-API-Key: \$POSTERN_API_KEY"[\s\S]*<the body, which is not stored>/)
  assert.ok(!curl.includes('sk_'))
})

journey('owners see a provider’s message once the settings say so', { as: 'owner' }, async ({ page }) => {
  const talkative = await service.project({ name: 'Talkative' })
  const key = await service.key(talkative, { name: 'Caller' })
  await page.goto(`/dashboard/projects/${talkative.id}/settings`)
  await page.getByRole('checkbox', { name: 'Record the messages of providers’ errors' }).click()
  await page.getByRole('button', { name: 'Save settings' }).click()
  const at = `projects/${talkative.id}`
  await until('it is saved', async () => (await service.get(at)).recordProviderErrors)
  await page.locator('.notices').getByText('Settings saved').waitFor() // until then, leaving the page would lose changes
  await failNext(503, 'openai', 2)
  const failed = await service.complete(key.value, { model: 'groat', ...question('A target fails') })
  assert.equal(failed.status, 502)
  await until('it is recorded', async () => (await service.get(`${at}/requests`)).requests.length === 1)
  await page.goto(`/dashboard/${at}/requests/${failed.headers.get('x-request-id')}`)
  await page.getByRole('table', { name: 'Attempts, oldest first' }).waitFor()
  const card = page.locator('.fact-list', { has: page.getByText('Type', { exact: true }) })
  assert.match(await card.textContent(), /MessageThe provider returned status 503\.$/)
  assert.equal(await page.getByText('Its message is shown to owners only').count(), 0)
})

const PHONE = { as: 'owner', viewport: NARROW, hasTouch: true }

journey('on a phone, a refused request shows its details and the limits', PHONE, async ({ page }) => {
  await page.goto(`/dashboard/${base}/requests?cause=rate_limit`)
  await page.getByRole('link', { name: 'Over a rate limit' }).first().tap()
  await page.getByRole('dialog').getByRole('link', { name: 'Open page' }).tap()
  await page.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor()
  await fact(page, 'Remedy').getByText('raise the limit that').waitFor()
  const limits = page.getByRole('table', { name: 'Limits of the key' })
  await limits.getByRole('row').filter({ hasText: '1 request in 1 day' }).getByText('0', { exact: true }).waitFor()
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  assert.equal(await overflow(), 0)
  await page.goto(`/dashboard/${base}/requests/${sent.ids[400]}`)
  await page.getByRole('region', { name: 'What happened' }).getByText('messages', { exact: true }).waitFor()
  assert.equal(await overflow(), 0)
  await page.goto(`/dashboard/${base}/requests/${sent.ids[200]}`)
  await page.getByText('are recorded only of requests that were not served').waitFor()
})

journey('by keyboard, the palette finds a request of another project', { as: 'owner' }, async ({ page }) => {
  await page.goto(`/dashboard/projects/${elsewhere.id}`)
  await page.getByRole('button', { name: 'Sign out' }).waitFor() // the page listens to the keyboard after its first render
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Find' }).waitFor()
  await page.keyboard.type(sent.ids[402])
  const option = page.getByRole('option', { name: 'Refused: Over the budget' })
  await option.getByText('in Mixed').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor()
  assert.equal(new URL(page.url()).pathname, `/dashboard/${base}/requests/${sent.ids[402]}`)
  await page.getByText('Over the budget').first().waitFor()
})

journey('the palette continues by itself and shows how far it is', { as: 'viewer' }, async ({ page }) => {
  const id = `req_${'0'.repeat(32)}`
  const second = Promise.withResolvers()
  const asked = []
  await page.route(`**/api/admin/requests/${id}*`, async (route) => {
    const after = new URL(route.request().url()).searchParams.get('after')
    asked.push(after)
    if (after === 'at_32') await second.promise
    if (after === 'at_64') return route.continue({ url: `${service.url}/api/admin/requests/${id}` })
    const searched = after ? 64 : 32
    return route.fulfill({ json: { request: null, project: null, searched, next: `at_${searched}` } })
  })
  await page.goto('/dashboard')
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('combobox', { name: 'Find' }).fill(id)
  await page.getByText('Looked in 32 projects so far …').waitFor()
  second.resolve()
  await page.getByText('No project of this deployment has recorded this request').waitFor()
  assert.deepEqual(asked, [null, 'at_32', 'at_64'])
})

journey('a request without a record says why, and is looked for elsewhere', { as: 'owner' }, async ({ page }) => {
  await page.goto(`/dashboard/projects/${elsewhere.id}/requests/req_${'0'.repeat(32)}`)
  await page.getByText('This project has no record of the request').waitFor()
  await page.getByRole('button', { name: 'Look in all projects' }).click()
  await page.getByText('No project of this deployment has recorded it.').waitFor()
  await page.goto(`/dashboard/projects/${elsewhere.id}/requests/${sent.ids[400]}`)
  await page.getByRole('button', { name: 'Look in all projects' }).click()
  await page.getByText('Invalid request').first().waitFor()
  assert.equal(new URL(page.url()).pathname, `/dashboard/${base}/requests/${sent.ids[400]}`)
})
