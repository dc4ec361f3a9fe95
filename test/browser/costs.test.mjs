// The page of a project's costs: cache savings, the forecast, and the same traffic on other models.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { NARROW, startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)
const project = await seed()

/**
 * A project with three requests to nickel, a cache hit, a request that used farthing's prompt cache, and a request
 * with a development key.
 */
async function seed() {
  const project = await service.project({ name: 'Costly', budget: 10 })
  const key = await service.key(project, { name: 'Backend' })
  const development = await service.key(project, { name: 'Trial', environment: 'development' })
  for (const content of ['One', 'Two', 'Three', 'One']) await ask(key, { model: 'nickel', content })
  await ask(key, { model: 'farthing', content: 'cached, kept for five minutes' })
  await ask(development, { model: 'nickel', content: 'Free of charge' })
  await until('six requests', async () => {
    const { totals, development } = await service.get(`projects/${project.id}/costs`)
    return totals.requests + development === 6
  })
  return project
}

async function ask(key, { model, content }) {
  const response = await service.fetch('/v1/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key.value },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content }] }),
  })
  assert.equal(response.status, 200)
}

const COSTS = `/dashboard/projects/${project.id}/costs`

/** A tile: its value, and the note below it. */
async function tile(page, name) {
  const frame = page.locator('.tile').filter({ has: page.getByText(name, { exact: true }) })
  return [await frame.locator('.tile-value').textContent(), await frame.locator('.tile-note').textContent()]
}

const models = (page) => page.getByRole('table', { name: 'Cost on other models, chat' })
const firstModels = async (page, number) =>
  (await models(page).getByRole('rowheader').locator('.name').allTextContents()).slice(0, number)

journey('one click from the overview shows what caches saved', { as: 'viewer' }, async ({ page }) => {
  await page.goto(`/dashboard/projects/${project.id}`)
  await page.getByRole('link', { name: 'Costs', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Costs' }).waitFor()
  await page.getByRole('table', { name: 'Costs by model' }).waitFor()
  assert.deepEqual(await tile(page, 'Saved by caches'), [
    '$0.0639',
    '$0.05 by the cache (estimate), $0.0139 by prompt caches',
  ])
  assert.deepEqual(await tile(page, 'Spend'), ['$0.19', '4 billed requests'])
  assert.deepEqual(await tile(page, 'Estimated or expired'), ['0%', 'at most $0.00 of the cost (0%)'])
  const row = (name) => page.getByRole('table', { name: 'Costs by model' }).getByRole('row', { name })
  await row(/^nickel 3 1 \$0\.05 \$0\.05 \$0\.00 \$0\.05 0 0 0% \$0\.15$/).waitFor()
  await row(/^farthing 1 0 \$0\.0361 \$0\.00 \$0\.0139 \$0\.0139 0 0 0% \$0\.0361$/).waitFor()
  await page.getByText('1 request of development keys left out').waitFor()
  await page.getByText('A forecast needs a full day since the project was created').waitFor()
})

journey('a cheaper model is named, with what the comparison does not tell', { as: 'owner' }, async ({ page }) => {
  await page.goto(COSTS)
  const card = page.getByRole('region', { name: 'The same traffic on another model' })
  await card.getByText('chat: $0.19 recorded; the same tokens at list prices $0.19').waitFor()
  const { candidates } = await service.get(`projects/${project.id}/costs/compare`)
  assert.ok(candidates[0].difference < 0)
  await card.getByText(`The cheapest is ${candidates[0].model}:`).waitFor()
  for (const caveat of ['Models count tokens differently', 'Quality differs', 'Prompt cache tokens have']) {
    await card.getByRole('listitem').filter({ hasText: caveat }).waitFor()
  }
  await models(page)
    .getByRole('row', { name: /^nickel used in this range/ })
    .waitFor()
  assert.equal(await models(page).getByRole('row', { name: /^dime/ }).count(), 0, 'dime is dearer')

  await page.getByLabel('Search all models').fill('dime')
  await models(page)
    .getByRole('row', { name: /^dime openai – \$0\.40 \$0\.21 \+114\.9%$/ })
    .waitFor()
  await page.getByLabel('Search all models').fill('')
  await page.getByText(`12 of ${candidates.filter(({ kind }) => kind === 'chat').length} models shown`).waitFor()
  await page.getByLabel('Show', { exact: true }).selectOption('all')
  await models(page).getByRole('row', { name: /^dime/ }).waitFor()
  assert.deepEqual(await firstModels(page, 1), [candidates[0].model])
  await models(page).getByRole('button', { name: 'Cost' }).press('Enter')
  await until('the most expensive is first', async () => (await firstModels(page, 1))[0] !== candidates[0].model)
  assert.match(page.url(), /sort-chat=-cost/)
})

journey('the traffic of one model is compared, and the URL keeps it', { as: 'owner' }, async ({ page }) => {
  await page.goto(COSTS)
  await page.getByText('$0.19 recorded').waitFor()
  await page.getByLabel('Traffic of').selectOption('nickel')
  await page.getByText('chat: $0.15 recorded; the same tokens at list prices $0.15').waitFor()
  await page.getByRole('button', { name: '7 days', exact: true }).click()
  await until('the URL has the range', () => new URL(page.url()).searchParams.get('range') === '7d')
  await page.reload()
  await page.getByText('chat: $0.15 recorded').waitFor()
  assert.equal(await page.getByLabel('Traffic of').inputValue(), 'nickel')
  await page.getByRole('button', { name: 'Custom' }).click()
  for (const label of ['From (UTC)', 'To (UTC)']) await page.getByLabel(label).fill('2026-01-31')
  await page.getByRole('button', { name: 'Show range' }).click()
  await page.getByText('No traffic to compare').waitFor()
  await page.getByText('No requests served in this range').waitFor()
  assert.match(page.url(), /range=custom&from=2026-01-31&to=2026-01-31/)
  await page.goBack()
  await page.goBack()
  await page.getByText('chat: $0.15 recorded').waitFor()
  assert.equal(await page.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed'), 'true')
})

journey('costs are read on a phone, and downloaded', { as: 'viewer', viewport: NARROW }, async ({ page }) => {
  await page.goto(COSTS)
  await page.getByText('Recorded tokens by model').first().click()
  await page
    .getByRole('table', { name: 'Recorded tokens by model' })
    .getByRole('row')
    .filter({ hasText: 'farthing' })
    .waitFor()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Usage by model, CSV' }).click(),
  ])
  assert.match(await readFile(await file.path(), 'utf8'), /^model,requests,/)
})

journey('the page says when the budget runs out, and which savings are unknown', { as: 'owner' }, async ({ page }) => {
  const report = await service.get(`projects/${project.id}/costs`)
  await page.route(/\/costs\?/, (route) => route.fulfill({ json: report }))
  const shown = async (forecast, used, text) => {
    const budget = { ...report.budget, used, remaining: Math.max(0, 10 - used), end: '2026-12-01T00:00:00.000Z' }
    Object.assign(report, { forecast, budget })
    await page.goto(COSTS)
    await page.getByText(text).first().waitFor()
  }
  await shown({ days: 7, dailyMean: 0.5, spend: 14, runsOut: '2026-11-25' }, 9, 'runs out on 2026-11-25')
  assert.equal((await tile(page, 'Forecast for the month'))[0], '$14.00')
  await page.getByText('$14.00 by 2026-11-30 (UTC)').waitFor()
  await page.getByText('the mean of the last 7 full days').waitFor()
  await shown({ days: 1, dailyMean: 0.1, spend: 3, runsOut: null }, 1, 'the budget of $10.00 is not reached')
  await page.getByText('the mean of the last 1 full day').waitFor()
  await shown({ days: 0, dailyMean: null, spend: null, runsOut: '2026-11-21' }, 10, 'the budget of $10.00 is used up')
  report.models[0].saved = { cache: 0, promptCache: 0, total: 0, unknownHits: 2 }
  report.totals.saved.unknownHits = 2
  report.totals.flagged = { estimated: 1, expired: 1, costAtMost: report.totals.cost / 2 }
  await page.goto(COSTS)
  await page.getByText('2 hits of models that no provider served').waitFor()
  await page.getByRole('cell', { name: 'unknown' }).waitFor()
  assert.equal((await tile(page, 'Estimated or expired'))[0], '50%')
})

journey('the list of projects says which budgets nobody has set', { as: 'owner' }, async ({ page }) => {
  await service.project({ name: 'Left at its default' })
  await service.project({ name: 'Nothing to spend', budget: 0 })
  await page.goto('/dashboard/projects')
  const row = (name) => page.getByRole('row', { name })
  await row('Left at its default').getByText('the plan’s default').waitFor()
  await row('Nothing to spend').getByText('nothing that costs').waitFor()
  assert.equal(await row('Costly').getByText('the plan’s default').count(), 0)
})

journey('a comparison that fails does not hide the costs', { as: 'owner' }, async ({ page }) => {
  await page.route('**/costs/compare*', (route) =>
    route.fulfill({ status: 429, json: { error: 'Slow', code: 'slow' } }),
  )
  await page.goto(COSTS)
  await page.getByText('Could not load the comparison: Slow').waitFor()
  await page.getByRole('table', { name: 'Costs by model' }).waitFor()
  await page.unroute('**/costs/compare*')
  await page.getByRole('button', { name: 'Try again' }).click()
  await models(page).waitFor()
})
