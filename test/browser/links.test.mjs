// IDs and model names link to the pages of the things that they name.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const project = await service.project({ name: 'Linked', plan: 'guarded' })
const base = `projects/${project.id}`
await service.admin('PUT', `${base}/governor`, { enabled: true })
const key = await service.key(project, { name: 'Caller' })

/** Clicks a link on the page, and waits for the heading of the page that it leads to. */
async function follow(page, within, link, heading) {
  await within.getByRole('link', { name: link, exact: true }).first().click()
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
}

journey('from a violation to its request, its model and the key that changed it', { as: 'owner' }, async ({ page }) => {
  const triage = await service.key(project, { name: 'Triage', kind: 'project' })
  await service.complete(key.value, {
    quality: 'cheap',
    messages: [{ role: 'user', content: 'Use AKIAQYLPMN5HHHFPZAM2' }],
  })
  await service.complete(key.value, { quality: 'cheap' })
  const listed = (list) =>
    until(`${list} are listed`, async () => {
      const items = (await service.get(`${base}/${list}`))[list]
      return items.length > 0 && items
    })
  const [violation] = await listed('violations')
  await until('the requests are listed', async () => (await listed('requests')).length === 2)
  const changed = await service.fetch(`/api/violations/${violation.id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json', 'x-api-key': triage.value },
    body: JSON.stringify({ state: 'resolved' }),
  })
  assert.equal(changed.status, 200)
  const at = `/dashboard/${base}/violations/${violation.id}`
  const main = page.getByRole('main')

  await page.goto(at)
  await follow(page, main, triage.id, 'Key Triage')
  await page.goto(at)
  await follow(page, main, violation.requestId, 'Request')
  await follow(page, main, 'Caller', 'Key Caller')

  // The request asked for a tier, so the models page shows the tier's models.
  assert.equal(violation.model, 'cheap')
  await page.goto(at)
  await follow(page, main, 'cheap', 'Models and prices')
  await page.getByText('1 model', { exact: true }).waitFor()
  await page.getByRole('rowheader', { name: 'nickel' }).waitFor()
})

journey('from the audit log to a model of the registry, and to a key', { as: 'owner' }, async ({ page }) => {
  await service.admin('POST', `${base}/models-registry`, { model: 'dime', owner: 'Platform team' })
  await service.admin('PATCH', base, { budget: 2.5 })
  await page.goto('/dashboard/audit')
  const table = page.getByRole('table')
  await table.getByRole('row').filter({ hasText: 'updated the project' }).getByText('$2.50').waitFor()
  await follow(page, table, 'dime', 'Model dime')
  await follow(page, page.getByRole('main'), 'dime', 'Models and prices')
  await page.goto('/dashboard/audit?action=key')
  await follow(page, table, 'Caller', 'Key Caller')
})
