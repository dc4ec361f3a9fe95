// Late and reordered responses, and concurrent changes.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const at = (project, page) => `/dashboard/projects/${project.id}/${page}`
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()
const shown = (page, text) => page.getByText(text, { exact: true }).waitFor()

/**
 * Holds the responses to matching GET requests until they are released. "first" resolves when the first response has
 * arrived.
 */
async function hold(page, matches) {
  let release
  const gate = new Promise((resolve) => {
    release = resolve
  })
  let arrived
  const first = new Promise((resolve) => {
    arrived = resolve
  })
  await page.route('**/api/admin/**', async (route) => {
    const request = route.request()
    if (request.method() !== 'GET' || !matches(new URL(request.url()))) return route.fallback()
    const response = await route.fetch()
    arrived()
    await gate
    await route.fulfill({ response }).catch(() => {}) // the page has aborted the request
  })
  return {
    first,
    release: async () => {
      release()
      await page.unrouteAll({ behavior: 'wait' })
    },
  }
}

/** Creates a project with 60 development keys and one production key. */
async function projectWithManyKeys(name) {
  const project = await service.project({ name })
  for (let i = 0; i < 60; i += 4) {
    const four = [0, 1, 2, 3].map((j) => ({ name: `Key ${i + j}`, environment: 'development' }))
    await Promise.all(four.map((fields) => service.key(project, fields)))
  }
  await service.key(project, { name: 'The needle', environment: 'production' })
  return project
}

journey('the next page of a list that is no longer shown is dropped', { as: 'owner' }, async ({ page }) => {
  const project = await projectWithManyKeys('Longer')
  await page.goto(at(project, 'keys'))
  await shown(page, '50 keys loaded')
  const environment = page.getByLabel('Environment')

  const more = await hold(page, (url) => url.searchParams.has('after'))
  await page.getByRole('button', { name: 'Show more' }).click()
  await more.first
  await environment.selectOption('production')
  await shown(page, '1 key')
  await more.release()
  await shown(page, '1 key')

  const filtered = await hold(page, (url) => url.searchParams.has('environment'))
  await environment.selectOption('')
  await shown(page, '50 keys loaded')
  await environment.selectOption('production')
  await filtered.first
  await page.getByRole('button', { name: 'Show more' }).click()
  await filtered.release()
  await shown(page, '1 key')

  await environment.selectOption('')
  await shown(page, '50 keys loaded')
  await page.getByRole('button', { name: 'Show more' }).click()
  await shown(page, '61 keys')
  await page.getByRole('button', { name: 'Deactivate Key 0', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
  await page.getByRole('button', { name: 'Reactivate Key 0', exact: true }).waitFor()
  await shown(page, '61 keys')
})

journey('an older response does not overwrite saved settings', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Slow' })
  await page.goto(at(project, 'keys'))
  await page.getByText('No API keys yet').waitFor()
  // The keys may arrive before the project. Wait for the project too, because `hold` must not catch its first load.
  await until('the project is loaded', async () => (await page.title()).includes('Slow'))
  const slow = await hold(page, (url) => url.pathname.endsWith(project.id))
  await page.getByRole('link', { name: 'Settings' }).click()
  await slow.first
  const save = page.getByRole('button', { name: 'Save settings' })
  await page.getByLabel('Budget (USD)').fill('3')
  await save.click()
  await notice(page, 'Settings saved')
  await slow.release()
  await page.getByLabel('Budget (USD)').fill('4')
  await save.click()
  await until('the second is saved too', async () => (await service.get(`projects/${project.id}`)).budget === 4)
  assert.equal(await save.evaluate((button) => button === document.activeElement), true)
})

journey('two tabs set the webhook: the second gets a conflict and resolves it', { as: 'owner' }, async (visit) => {
  const project = await service.project({ name: 'Two webhooks' })
  const [first, second] = [visit.page, await visit.open()]
  for (const page of [first, second]) {
    await page.goto(at(project, 'settings'))
    await page.getByLabel('Webhook URL').waitFor()
  }
  const hook = (page, name) => page.getByLabel('Webhook URL').fill(`https://example.com/${name}`)
  await hook(first, 'first')
  await first.getByRole('button', { name: 'Save webhook' }).click()
  await notice(first, 'Webhook saved')
  await hook(second, 'second')
  await second.getByRole('button', { name: 'Save webhook' }).click()
  await second.getByRole('button', { name: 'Reload and keep my edits' }).click()
  await until('the conflict is resolved', async () => (await second.getByText('Someone else').count()) === 0)
  assert.equal(await second.getByLabel('Webhook URL').inputValue(), 'https://example.com/second')
  await second.getByRole('button', { name: 'Save webhook' }).click()
  await notice(second, 'Webhook saved')
  assert.equal((await service.get(`projects/${project.id}`)).alerts.url, 'https://example.com/second')

  // The first tab loads the second's URL before it can overwrite it.
  await first.getByRole('link', { name: 'API keys', exact: true }).click()
  await first.getByRole('link', { name: 'Settings' }).click()
  const field = first.getByLabel('Webhook URL')
  await until('the second’s webhook', async () => (await field.inputValue()) === 'https://example.com/second')
})

journey('a reset reports a version conflict and works the second time', { as: 'owner' }, async ({ page }) => {
  const routes = { balanced: { strategy: 'ordered', targets: [{ model: 'dime' }] } }
  const project = await service.project({ name: 'Reset', routes })
  await page.goto(at(project, 'routes'))
  await page.getByRole('button', { name: 'Reset balanced' }).click()
  await service.admin('PATCH', `projects/${project.id}`, { name: 'Reset by two' })
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Reset to default' }).click()
  await dialog.getByText('Someone else changed it at the same time').waitFor()
  await page.locator('.page-of').getByText('Reset by two').waitFor()
  await dialog.getByRole('button', { name: 'Reset to default' }).click()
  await notice(page, 'Route balanced reset to default')
  assert.deepEqual((await service.get(`projects/${project.id}`)).routes, {})
})

journey('a deactivated key can be renamed on the same page', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'One page' })
  const { id } = await service.key(project, { name: 'Before' })
  await page.goto(at(project, `keys/${id}`))
  await page.getByRole('button', { name: 'Deactivate' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
  await page.getByRole('button', { name: 'Reactivate' }).waitFor()
  await page.getByLabel('Name').fill('After')
  await page.getByRole('button', { name: 'Save' }).click()
  await notice(page, 'Key After saved')
  const { name, status } = await service.get(`projects/${project.id}/keys/${id}`)
  assert.deepEqual([name, status], ['After', 'inactive'])
})

journey('a response that cannot be rendered breaks only its own page', { as: 'owner' }, async (visit) => {
  const { page } = visit
  visit.expected.push(/TypeError/)
  await page.route(/api\/admin\/audit/, (route) => route.fulfill({ json: { entries: [null] } }))
  await page.goto('/dashboard/audit')
  await page.getByRole('heading', { name: 'This page failed' }).waitFor()
  await page.getByRole('link', { name: 'Models and prices' }).click()
  await page.getByRole('heading', { name: 'Models and prices' }).waitFor()
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
})
