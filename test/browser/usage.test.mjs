// What is used and what it costs, from the gateway to the dashboard, to the webhook and to a file.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { after } from 'node:test'
import { startBrowser } from './browser.mjs'
import { NICKEL, startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

/** Production keys that ask so many different questions that each is paid for. */
async function spend(key, times, fields = {}) {
  for (let i = 0; i < times; i++) {
    const { status } = await service.ask(key, { messages: [{ role: 'user', content: `Question ${i}` }], ...fields })
    assert.equal(status, 200)
  }
}

/** The report of GET /api/usage, once it has so many requests. */
async function report(project, reader, requests) {
  return until(`${requests} requests in GET /api/usage`, async () => {
    const response = await service.fetch(`/api/usage?projectId=${project.id}`, { headers: { 'x-api-key': reader } })
    const usage = await response.json()
    const total = Object.values(usage.models).reduce((sum, model) => sum + model.requests, 0)
    return total === requests && usage
  })
}

/** What a tile of the overview says: its value, and the exact figure behind it. */
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

journey(
  'what the gateway served is on the overview, the same as in GET /api/usage',
  { as: 'owner' },
  async ({ page }) => {
    const { project, key, reader } = await projectWithReader({ name: 'Metered', budget: 10 })
    await page.goto(`/dashboard/projects/${project.id}`)
    await page.getByText('No requests in this period').waitFor()
    await spend(key.value, 3)
    await spend(key.value, 1) // the first question again: from the cache
    const usage = await report(project, reader.value, 4)
    assert.deepEqual([usage.budget.used, usage.cache.hits, usage.cache.misses], [0.15, 1, 3])

    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText(`$${usage.budget.used.toFixed(2)} of $10.00 used this month`).waitFor()
    assert.deepEqual(await tile(page, 'Spend'), [
      `$${usage.budget.used.toFixed(2)}`,
      `$${usage.budget.used.toFixed(2)}`,
    ])
    assert.deepEqual(await tile(page, 'Requests'), ['4', '4'])
    const tokens = Object.values(usage.models).reduce((sum, model) => sum + model.tokens, 0)
    assert.equal((await tile(page, 'Tokens'))[1], tokens.toLocaleString('en-US'))
    assert.equal((await tile(page, 'Hit rate'))[0], `${usage.cache.hitRate}%`)
    await page
      .getByRole('table', { name: 'Usage by model' })
      .getByRole('row', { name: /nickel.*\$0\.15/ })
      .waitFor()
    await page
      .getByRole('table', { name: 'Usage by key' })
      .getByRole('row', { name: /Spender.*\$0\.15/ })
      .waitFor()

    await page.getByRole('button', { name: 'Day', exact: true }).click()
    await page.getByRole('img', { name: /^Chart\. Spend, \w+day/ }).waitFor()
    assert.equal((await tile(page, 'Spend'))[0], '$0.15', 'the day has the same spend')
    await page.getByText('The charts’ figures as a table').click()
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
    const used = page.locator('dl.fact-list div').filter({ hasText: 'Last used' })
    await until('the key was used', async () => {
      await page.reload()
      return /just now|1 min ago/.test(await used.textContent())
    })
  },
)

journey('the figures are downloaded as CSV and NDJSON', { as: 'owner' }, async ({ page }) => {
  const { project, key, reader } = await projectWithReader({ name: '=Formula, "quoted"' })
  await spend(key.value, 2)
  await spend(key.value, 1, { quality: 'frontier' })
  await report(project, reader.value, 3)
  await page.goto(`/dashboard/projects/${project.id}`)
  const fetched = async (name) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name, exact: true }).click(),
    ])
    return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')]
  }
  const [name, csv] = await fetched('By day, key and model, CSV')
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
  const [, ndjson] = await fetched('By day, key and model, NDJSON')
  const lines = ndjson
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(lines.reduce((sum, line) => sum + line.cost, 0).toFixed(2), '0.20')
})

/** A receiver of webhooks, which keeps what it gets. */
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

/** The signature by Standard Webhooks. */
function signature(secret, { headers, body }) {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

journey(
  'a budget is told of at 80 and 100 percent, ends the answers, and is raised',
  { as: 'owner' },
  async ({ page }) => {
    const { url, received } = await startReceiver()
    const { project, key } = await projectWithReader({ name: 'Tight', budget: 4 * NICKEL })
    const settings = `/dashboard/projects/${project.id}/settings`
    await page.goto(settings)
    await page.getByLabel('Webhook address').fill(url)
    await page.getByRole('button', { name: 'Save webhook' }).click()
    const shown = page.getByRole('group', { name: 'The webhook’s signing secret' })
    const secret = await shown.locator('code').textContent()
    assert.match(secret, /^whsec_/)
    await page.reload()
    await page.getByText(`Its secret ends with ${secret.slice(-4)}`).waitFor()
    assert.ok(!(await page.content()).includes(secret), 'the secret is shown once')

    // A request is let through if what it may cost at most is left: these may cost little, and cost more.
    let refused
    for (let i = 0; i < 12 && !refused; i++) {
      const answer = await service.ask(key.value, {
        maxTokens: 5,
        messages: [{ role: 'user', content: `Expensive ${i}` }],
      })
      if (answer.status !== 200) refused = answer
    }
    assert.deepEqual([refused?.status, refused?.body.code], [402, 'budget_exceeded'])
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
    await until('the overview says that the budget is used', async () => {
      await page.getByRole('button', { name: 'Refresh' }).click()
      return Number(await bar.getAttribute('aria-valuenow')) === 100
    })
    await page.goto(`/dashboard/projects/${project.id}/playground`)
    await page.getByRole('textbox', { name: 'Key' }).fill(key.value)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').getByText('Raise the budget in the project’s settings').waitFor()

    await page.goto(settings)
    await page.getByLabel('Budget in dollars').fill('10')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.locator('.notices').getByText('Settings saved').waitFor()
    assert.equal((await service.ask(key.value, { messages: [{ role: 'user', content: 'Again?' }] })).status, 200)
  },
)

journey('the day’s work runs', { as: 'owner' }, async ({ page }) => {
  const response = await service.fetch('/cdn-cgi/local/explorer/api/local/scheduled?worker=postern-control', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ cron: '17 * * * *' }),
  })
  assert.equal((await response.json()).result?.outcome, 'ok')
  await page.goto('/dashboard')
  await page.getByRole('link', { name: 'Metered' }).waitFor()
  assert.doesNotMatch(service.log(), /control: daily|panic|the Go program ended/)
})
