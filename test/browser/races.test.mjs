// Answers that come late, in another order, or after somebody else was quicker.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const at = (project, page) => `/dashboard/projects/${project.id}/${page}`
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()
const shown = (page, text) => page.getByText(text, { exact: true }).waitFor()

/** Holds the answers to the GET requests that fit, as the server gave them, until they are released. */
async function held(page, fits) {
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
    if (request.method() !== 'GET' || !fits(new URL(request.url()))) return route.fallback()
    const response = await route.fetch()
    arrived()
    await gate
    await route.fulfill({ response }).catch(() => {}) // the page does not want it any more
  })
  return {
    first,
    release: async () => {
      release()
      await page.unrouteAll({ behavior: 'wait' })
    },
  }
}

/** A project with 60 development keys and one of production. */
async function manyKeys(name) {
  const project = await service.project({ name })
  for (let i = 0; i < 60; i += 4) {
    const four = [0, 1, 2, 3].map((j) => ({ name: `Key ${i + j}`, environment: 'development' }))
    await Promise.all(four.map((fields) => service.key(project, fields)))
  }
  await service.key(project, { name: 'The needle', environment: 'production' })
  return project
}

journey('more of a list that nobody looks at any more is dropped', { as: 'owner' }, async ({ page }) => {
  const project = await manyKeys('Longer')
  await page.goto(at(project, 'keys'))
  await shown(page, '50 keys so far')
  const environment = page.getByLabel('Environment')

  const more = await held(page, (url) => url.searchParams.has('after'))
  await page.getByRole('button', { name: 'Show more' }).click()
  await more.first
  await environment.selectOption('production')
  await shown(page, '1 key')
  await more.release()
  await shown(page, '1 key')

  const filtered = await held(page, (url) => url.searchParams.has('environment'))
  await environment.selectOption('')
  await shown(page, '50 keys so far')
  await environment.selectOption('production')
  await filtered.first
  await page.getByRole('button', { name: 'Show more' }).click()
  await filtered.release()
  await shown(page, '1 key')

  await environment.selectOption('')
  await shown(page, '50 keys so far')
  await page.getByRole('button', { name: 'Show more' }).click()
  await shown(page, '61 keys')
  await page.getByRole('button', { name: 'Deactivate Key 0', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
  await page.getByRole('button', { name: 'Reactivate Key 0', exact: true }).waitFor()
  await shown(page, '61 keys')
})

journey('what was saved is not overwritten by an older answer', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Slow' })
  await page.goto(at(project, 'keys'))
  await page.getByText('This project has no keys').waitFor()
  const slow = await held(page, (url) => url.pathname.endsWith(project.id))
  await page.getByRole('link', { name: 'Settings' }).click()
  await slow.first
  const save = page.getByRole('button', { name: 'Save settings' })
  await page.getByLabel('Budget in dollars').fill('3')
  await save.click()
  await notice(page, 'Settings saved')
  await slow.release()
  await page.getByLabel('Budget in dollars').fill('4')
  await save.click()
  await until('the second is saved too', async () => (await service.get(`projects/${project.id}`)).budget === 4)
  assert.equal(await save.evaluate((button) => button === document.activeElement), true)
})

journey('two tabs set the webhook: the second is told, and can go on', { as: 'owner' }, async (visit) => {
  const project = await service.project({ name: 'Two webhooks' })
  const [first, second] = [visit.page, await visit.open()]
  for (const page of [first, second]) {
    await page.goto(at(project, 'settings'))
    await page.getByLabel('Webhook address').waitFor()
  }
  const hook = (page, name) => page.getByLabel('Webhook address').fill(`https://example.com/${name}`)
  await hook(first, 'first')
  await first.getByRole('button', { name: 'Save webhook' }).click()
  await notice(first, 'Webhook saved')
  await hook(second, 'second')
  await second.getByRole('button', { name: 'Save webhook' }).click()
  await second.getByRole('button', { name: 'Reload, keep what I typed' }).click()
  await until('the conflict is gone', async () => (await second.getByText('Somebody else').count()) === 0)
  assert.equal(await second.getByLabel('Webhook address').inputValue(), 'https://example.com/second')
  await second.getByRole('button', { name: 'Save webhook' }).click()
  await notice(second, 'Webhook saved')
  assert.equal((await service.get(`projects/${project.id}`)).alerts.url, 'https://example.com/second')

  // What the first tab loads next is what stands there, so that it does not overwrite it unseen.
  await first.getByRole('link', { name: 'Keys', exact: true }).click()
  await first.getByRole('link', { name: 'Settings' }).click()
  const field = first.getByLabel('Webhook address')
  await until('the second’s webhook', async () => (await field.inputValue()) === 'https://example.com/second')
})

journey('a reset that lost a race says so, and works the next time', { as: 'owner' }, async ({ page }) => {
  const routes = { balanced: { strategy: 'ordered', targets: [{ model: 'dime' }] } }
  const project = await service.project({ name: 'Reset', routes })
  await page.goto(at(project, 'routes'))
  await page.getByRole('button', { name: 'Reset balanced' }).click()
  await service.admin('PATCH', `projects/${project.id}`, { name: 'Reset by two' })
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Reset to the catalog' }).click()
  await dialog.getByText('Somebody else has changed it meanwhile').waitFor()
  await page.locator('.page-of').getByText('Reset by two').waitFor()
  await dialog.getByRole('button', { name: 'Reset to the catalog' }).click()
  await notice(page, 'Route balanced is the catalog’s again')
  assert.deepEqual((await service.get(`projects/${project.id}`)).routes, {})
})

journey('a key that was deactivated can be renamed on the same page', { as: 'owner' }, async ({ page }) => {
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

journey('an answer that cannot be shown spoils its own page only', { as: 'owner' }, async (visit) => {
  const { page } = visit
  visit.expected.push(/TypeError/)
  await page.route(/api\/admin\/audit/, (route) => route.fulfill({ json: { entries: [null] } }))
  await page.goto('/dashboard/audit')
  await page.getByRole('heading', { name: 'This page has a fault' }).waitFor()
  await page.getByRole('link', { name: 'Models and prices' }).click()
  await page.getByRole('heading', { name: 'Models and prices' }).waitFor()
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
})
