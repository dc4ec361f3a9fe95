// Usage and cost, from the gateway to the dashboard, the webhook and the downloads.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { after } from 'node:test'
import { onServe } from '../serve.mjs'
import { startBrowser } from './browser.mjs'
import { NICKEL, startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

/** Sends requests with different messages, so that the cache serves none of them. */
async function spend(key, times, fields = {}) {
  for (let i = 0; i < times; i++) {
    const { status } = await service.complete(key, {
      messages: [{ role: 'user', content: `Question ${i}` }],
      ...fields,
    })
    assert.equal(status, 200)
  }
}

/** The report of GET /api/usage, once it contains the given number of requests. */
async function report(project, reader, requests) {
  return until(`${requests} requests in GET /api/usage`, async () => {
    const response = await service.fetch(`/api/usage?projectId=${project.id}`, { headers: { 'x-api-key': reader } })
    const usage = await response.json()
    const total = Object.values(usage.models).reduce((sum, model) => sum + model.requests, 0)
    return total === requests && usage
  })
}

/** A tile of the overview: its value, and the exact value in its title. */
async function tile(page, name) {
  const frame = page.locator('.tile').filter({ has: page.getByText(name, { exact: true }) })
  const value = frame.locator('.tile-value')
  return [await value.textContent(), await value.getAttribute('title')]
}

async function projectWithReader(fields) {
  const project = await service.project(fields)
  const [key, reader] = [
    await service.key(project, { name: 'Spender' }),
    await service.key(project, { name: 'Reader', kind: 'project' }),
  ]
  return { project, key, reader }
}

journey('the overview shows the same usage as GET /api/usage', { as: 'owner' }, async ({ page }) => {
  const { project, key, reader } = await projectWithReader({ name: 'Metered', budget: 10 })
  await page.goto(`/dashboard/projects/${project.id}`)
  await page.getByText('No requests in this range').waitFor()
  await spend(key.value, 3)
  await spend(key.value, 1) // the first message again, which is a cache hit
  const usage = await report(project, reader.value, 4)
  assert.deepEqual([usage.budget.used, usage.cache.hits, usage.cache.misses], [0.15, 1, 3])

  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByText(`$${usage.budget.used.toFixed(2)} of $10.00 used this month`).waitFor()
  assert.deepEqual(await tile(page, 'Spend'), [`$${usage.budget.used.toFixed(2)}`, `$${usage.budget.used.toFixed(2)}`])
  assert.equal((await tile(page, 'Requests'))[0], '4')
  const tokens = Object.values(usage.models).reduce((sum, model) => sum + model.tokens, 0)
  assert.equal((await tile(page, 'Tokens'))[1], tokens.toLocaleString('en-US'))
  assert.equal((await tile(page, 'Cache hit rate'))[0], `${usage.cache.hitRate}%`)
  await page
    .getByRole('table', { name: 'Usage by model' })
    .getByRole('row', { name: /nickel.*\$0\.15/ })
    .waitFor()
  await page.getByRole('button', { name: 'API key', exact: true }).click()
  await page
    .getByRole('table', { name: 'Usage by API key' })
    .getByRole('row', { name: /Spender.*\$0\.15/ })
    .waitFor()

  await page.getByRole('button', { name: '24 hours', exact: true }).click()
  await page.getByRole('img', { name: /^Chart\. Spend, \d{4}-\d\d-\d\d \d\d:\d0 to / }).waitFor()
  assert.equal((await tile(page, 'Spend'))[0], '$0.15', 'the last 24 hours have the same spend')
  await page.getByText('Show chart data as a table').click()
  await page
    .getByRole('table', { name: /Usage by hour/ })
    .getByRole('row', { name: /\$0\.15/ })
    .waitFor()

  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  await until('four requests are listed', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click()
    return (await page.getByText('4 requests', { exact: true }).count()) > 0
  })
  await page.getByLabel('Cache').selectOption('hit')
  await page.getByText('1 request', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Spender' }).first().click()
  await page.getByRole('heading', { name: 'Key Spender' }).waitFor()
  const lastUsed = page.locator('dl.fact-list div').filter({ hasText: 'Last used' })
  await until('the last use is shown', async () => {
    await page.reload()
    return /just now|1 min ago/.test(await lastUsed.textContent())
  })
})

/** Makes the provider respond to the next requests in OpenAI's format with a given status. */
async function failNext(status, times = 1) {
  const command = { kind: 'status', status, family: 'openai', times }
  const response = await fetch(`${service.upstream}/__fake/next`, { method: 'POST', body: JSON.stringify(command) })
  assert.equal(response.status, 204)
}

journey(
  'a failed attempt is charged to the model that failed, and a rescue counted',
  { as: 'owner' },
  async ({ page }) => {
    const { project, key, reader } = await projectWithReader({ name: 'Rescued' })
    const targets = ['groat', 'farthing'].map((model) => ({ model }))
    await service.admin('PATCH', `projects/${project.id}`, { routes: { cheap: { strategy: 'ordered', targets } } })
    await page.goto(`/dashboard/projects/${project.id}`)
    await page.getByText('No requests in this range').waitFor()
    await service.complete(key.value, { quality: 'cheap', messages: [{ role: 'user', content: 'Nothing fails' }] })
    await failNext(429)
    await failNext(503)
    const { headers } = await service.complete(key.value, { quality: 'cheap' })
    assert.equal(headers.get('x-postern-attempts'), '3; openai/groat=429, openai/groat=503, anthropic/farthing=200')
    const { models } = await report(project, reader.value, 2)
    assert.deepEqual(Object.keys(models).sort(), ['farthing', 'groat'])

    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('2 of 4 attempts failed').waitFor()
    assert.equal((await tile(page, 'Saved by fallback'))[0], '1')
    const table = page.getByRole('table', { name: 'Failed attempts by model' })
    await table.getByRole('row', { name: /^groat 3 2 66\.7% 1 0 1 0 0 0 0 0 0 0$/ }).waitFor()
    await table.getByRole('row', { name: /^farthing 1 0 0% 0 0 0 0 0 0 0 0 1 0$/ }).waitFor()
    const [day] = await downloaded(page, 'By day, CSV')
    assert.deepEqual([day.attempts, day.attemptsBusy, day.attemptsUnavailable, day.rescued], ['4', '1', '1', '1'])
  },
)

/** Sends a message to farthing. The text determines the effect on the provider's prompt cache. */
async function ask(key, content) {
  const response = await service.fetch('/v1/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key.value },
    body: JSON.stringify({ model: 'farthing', max_tokens: 50, messages: [{ role: 'user', content }] }),
  })
  assert.equal(response.status, 200)
}

/** The records of the CSV file of the overview with the given grouping. */
async function downloaded(page, name) {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name, exact: true }).click(),
  ])
  const lines = (await readFile(await file.path(), 'utf8')).trim().split(/\r?\n/)
  const [head, ...rows] = lines.map((line) => line.split(','))
  return rows.map((cells) => Object.fromEntries(head.map((column, i) => [column, cells[i]])))
}

journey('what a prompt cache saved is the same everywhere', { as: 'owner' }, async ({ page }) => {
  const { project, key, reader } = await projectWithReader({ name: 'Prompt cache' })
  await ask(key, 'cached, kept for five minutes') // 80 × 180 − 10 × 50 millionths of a dollar
  await ask(key, 'kept for an hour') // − 6 × 200 millionths
  const cached = { messages: [{ role: 'user', content: 'cached' }] }
  await service.complete(key.value, { ...cached, model: 'groat' }) // 80 × 150 millionths
  await service.complete(key.value, { ...cached, quality: 'frontier' }) // dime has no price for cached tokens, so it saves nothing
  await spend(key.value, 1)
  const saved = 0.0247
  const { promptCache, models } = await report(project, reader.value, 5)
  assert.deepEqual(promptCache, { readTokens: 240, writeTokens: 16, saved })
  assert.deepEqual(
    ['farthing', 'groat', 'dime'].map((name) => Object.values(models[name].promptCache)),
    [
      [80, 16, 0.0127],
      [80, 0, 0.012],
      [80, 0, 0],
    ],
  )
  assert.equal(models.nickel.promptCache, undefined)
  assert.equal(models.dime.cost, 0.1, 'all tokens have the price of input')

  await page.goto(`/dashboard/projects/${project.id}`)
  assert.deepEqual(await tile(page, 'Prompt cache saved'), ['$0.0247', '$0.0247'])
  await page.getByText('240 tokens read, 16 written').waitFor()
  await page
    .getByRole('table', { name: 'Usage by model' })
    .getByRole('row', { name: /farthing.* 80 16 \$0\.0127/ })
    .waitFor()
  await page
    .getByRole('table', { name: 'Usage by model' })
    .getByRole('row', { name: /nickel.* 0 0 \$0\.00/ })
    .waitFor()
  for (const name of [/groat.* 80 0 \$0\.012/, /dime.* 80 0 \$0\.00/]) {
    await page.getByRole('table', { name: 'Usage by model' }).getByRole('row', { name }).waitFor()
  }
  await page.getByRole('button', { name: 'API key', exact: true }).click()
  await page
    .getByRole('table', { name: 'Usage by API key' })
    .getByRole('row', { name: /Spender.* 240 16 \$0\.0247/ })
    .waitFor()
  await page.getByRole('img', { name: /^Chart\. Prompt cache of providers, .*Tokens read: 0 to 240/ }).waitFor()
  const [day] = await downloaded(page, 'By day, CSV')
  assert.deepEqual(
    [day.promptCacheReadTokens, day.promptCacheWriteTokens, day.promptCacheSaved],
    ['240', '16', String(saved)],
  )
  const rows = await downloaded(page, 'By day, key and model, CSV')
  assert.deepEqual(
    rows
      .map((row) => [row.model, row.promptCacheReadTokens, row.promptCacheWriteTokens, row.promptCacheSaved].join())
      .sort(),
    ['dime,80,0,0', 'farthing,80,16,0.0127', 'groat,80,0,0.012', 'nickel,0,0,0'],
  )
  const { totals } = await service.get(`projects/${project.id}/usage`)
  assert.deepEqual(totals.promptCache, promptCache)

  const listed = async () => (await service.get(`projects/${project.id}/requests`)).requests.length
  await until('the requests are listed', async () => (await listed()) === 5)
  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  const row = (text) => page.getByRole('row').filter({ hasText: text })
  await row('farthing')
    .filter({ hasText: '80 read from prompt cache' })
    .getByText('prompt cache saved $0.0139')
    .waitFor()
  await row('groat').getByText('prompt cache saved $0.012').waitFor()
  await row('dime').getByText('80 read from prompt cache').waitFor()
  assert.equal(await row('dime').getByText('prompt cache saved').count(), 0)
  await row('6 written to prompt cache').getByText('prompt cache added $0.0012').waitFor()
  assert.equal(await row('nickel').getByText('prompt cache').count(), 0)
})

journey('usage is downloaded as CSV and NDJSON', { as: 'owner' }, async ({ page }) => {
  const { project, key, reader } = await projectWithReader({ name: '=Formula, "quoted"' })
  await spend(key.value, 2)
  await spend(key.value, 1, { quality: 'frontier' })
  await report(project, reader.value, 3)
  await page.goto(`/dashboard/projects/${project.id}`)
  const download = async (name) => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name, exact: true }).click(),
    ])
    return [file.suggestedFilename(), await readFile(await file.path(), 'utf8')]
  }
  const [name, csv] = await download('By day, key and model, CSV')
  assert.match(name, /\.csv$/)
  const [head, ...rows] = csv
    .trim()
    .split(/\r?\n/)
    .map((line) => line.split(','))
  const records = rows.map((cells) => Object.fromEntries(head.map((column, i) => [column, cells[i]])))
  assert.deepEqual(
    records
      .map((record) => [record.keyId, record.model, record.requests, Number(record.cost)])
      .sort((a, b) => a[3] - b[3]),
    [
      [key.id, 'dime', '1', 0.1],
      [key.id, 'nickel', '2', 0.1],
    ].sort((a, b) => a[3] - b[3]),
  )
  const [, ndjson] = await download('By day, key and model, NDJSON')
  const lines = ndjson
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(lines.reduce((sum, line) => sum + line.cost, 0).toFixed(2), '0.20')
})

/** Starts a webhook receiver that records the alerts. */
async function startReceiver() {
  const received = []
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${server.address().port}/alerts`, received }
}

/** The signature header of Standard Webhooks. */
function signature(secret, { headers, body }) {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

journey(
  'a budget sends alerts at 80% and 100%, blocks requests when used up, and can be raised',
  { as: 'owner' },
  async ({ page }) => {
    const { url, received } = await startReceiver()
    const { project, key } = await projectWithReader({ name: 'Tight', budget: 4 * NICKEL })
    const settings = `/dashboard/projects/${project.id}/settings`
    await page.goto(settings)
    await page.getByLabel('Webhook URL').fill(url)
    await page.getByRole('button', { name: 'Save webhook' }).click()
    const shown = page.getByRole('group', { name: 'Webhook signing secret' })
    const secret = await shown.locator('code').textContent()
    assert.match(secret, /^whsec_/)
    await page.reload()
    await page.getByText(`Signing secret: …${secret.slice(-4)}`).waitFor()
    assert.ok(!(await page.content()).includes(secret), 'the secret is shown once')

    // A request is admitted if its maximum cost fits into the remaining budget. These requests cost more than their
    // maximum, because the fake provider ignores maxTokens.
    let rejected
    for (let i = 0; i < 12 && !rejected; i++) {
      const response = await service.complete(key.value, {
        maxTokens: 5,
        messages: [{ role: 'user', content: `Expensive ${i}` }],
      })
      if (response.status !== 200) rejected = response
    }
    assert.deepEqual([rejected?.status, rejected?.body.code], [402, 'budget_exceeded'])
    await until('two alerts', () => received.length === 2)
    for (const alert of received) {
      assert.equal(alert.headers['webhook-signature'], signature(secret, alert))
      const { type, data } = JSON.parse(alert.body)
      assert.deepEqual([type, data.projectId, data.budget.limit], ['budget.threshold', project.id, 4 * NICKEL])
    }
    const percents = received.map(({ body }) => JSON.parse(body).data.thresholdPercent)
    assert.deepEqual(
      percents.sort((a, b) => a - b),
      [80, 100],
    )

    await page.goto(`/dashboard/projects/${project.id}`)
    const bar = page.getByRole('progressbar')
    await until('the overview shows a used-up budget', async () => {
      await page.getByRole('button', { name: 'Refresh' }).click()
      return Number(await bar.getAttribute('aria-valuenow')) === 100
    })
    await page.goto(`/dashboard/projects/${project.id}/playground`)
    await page.getByRole('textbox', { name: 'API key' }).fill(key.value)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').getByText('Raise the budget that the message below names').waitFor()

    await page.goto(settings)
    await page.getByLabel('Budget (USD)').fill('10')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.locator('.notices').getByText('Settings saved').waitFor()
    assert.equal((await service.complete(key.value, { messages: [{ role: 'user', content: 'Again?' }] })).status, 200)
  },
)

// `postern serve` has no such handler.
const onWorkers = onServe ? () => undefined : journey
onWorkers('the scheduled job succeeds', { as: 'owner' }, async ({ page }) => {
  const response = await service.fetch('/cdn-cgi/local/explorer/api/local/scheduled?worker=postern-control', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ cron: '17 * * * *' }),
  })
  assert.equal((await response.json()).result?.outcome, 'ok')
  await page.goto('/dashboard/projects')
  await page.getByRole('link', { name: 'Metered' }).waitFor()
  assert.doesNotMatch(service.log(), /hourly_failed|panic|the Go program ended/)
})
