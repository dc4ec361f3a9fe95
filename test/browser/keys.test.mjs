// The first steps with a project, and the life cycle of its keys.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { onServe } from '../serve.mjs'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)
const run = promisify(execFile)

const keysOf = (project) => `/dashboard/projects/${project.id}/keys`
const row = (page, name) => page.getByRole('row').filter({ hasText: name })
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()

/** Clicks a key's button in the list, and the action in the confirmation dialog. */
async function confirm(page, button, action) {
  await page.getByRole('button', { name: button, exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
}

/** The status of a completion request with a key. */
const statusOf = async (key) => (await service.complete(key)).status

journey(
  'from an empty deployment to the first completion',
  { as: 'owner', permissions: ['clipboard-read', 'clipboard-write'] },
  async (visit) => {
    const { page } = visit
    if (onServe) {
      await page.goto('/dashboard/projects/new') // the server's first start created a demo project
    } else {
      await page.goto('/dashboard')
      await page.getByText('Create your first project').waitFor()
      await page.getByRole('link', { name: 'Create a project' }).click()
    }
    await page.getByLabel('Name').fill('Support')
    await page.getByLabel('Plan').selectOption('small')
    await page.getByLabel('Budget (USD)').fill('$1,234.50')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByRole('heading', { name: 'New key' }).waitFor()
    await page.getByLabel('Name').fill('Backend')
    await page.getByRole('button', { name: 'Create key' }).click()

    const shown = page.getByRole('group', { name: 'API key “Backend”' })
    const value = await shown.locator('code').textContent()
    assert.match(value, /^sk_live_\w{20,}$/)
    await shown.getByRole('button', { name: 'Copy' }).click()
    await notice(page, 'Copied')
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), value)

    const command = await page.getByRole('region', { name: 'curl' }).locator('code').textContent()
    const { stdout } = await run('sh', ['-c', command.replaceAll('curl ', 'curl -sS ')], {
      env: { PATH: process.env.PATH },
    })
    assert.equal(JSON.parse(stdout).text, 'Hello from upstream')

    await page.getByRole('link', { name: 'I’ve saved this key' }).click()
    await row(page, 'Backend')
      .getByText(`sk_live_…${value.slice(-4)}`)
      .waitFor()
    await page.reload()
    await row(page, 'Backend').waitFor()
    assert.ok(!(await page.content()).includes(value), 'the value is shown once')

    const [project] = (await service.get('projects?q=Support')).projects
    assert.deepEqual([project.plan, project.budget], ['small', 1234.5])
    const [key] = (await service.get(`projects/${project.id}/keys`)).keys
    assert.deepEqual(
      [key.name, key.kind, key.environment, key.last4],
      ['Backend', 'gateway', 'production', value.slice(-4)],
    )
  },
)

journey(
  'a key is deactivated, reactivated and deleted, each after a confirmation',
  { as: 'owner' },
  async ({ page }) => {
    const project = await service.project()
    const key = await service.key(project, { name: 'Batch' })
    assert.equal(await statusOf(key.value), 200)
    await page.goto(keysOf(project))

    await page.getByRole('button', { name: 'Deactivate Batch' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await statusOf(key.value), 200, 'canceled')

    await confirm(page, 'Deactivate Batch', 'Deactivate')
    await row(page, 'Batch').getByText('inactive', { exact: true }).waitFor()
    const rejected = await service.complete(key.value)
    assert.deepEqual([rejected.status, rejected.body.code], [401, 'invalid_api_key'])

    await confirm(page, 'Reactivate Batch', 'Reactivate')
    await row(page, 'Batch').getByText('active', { exact: true }).waitFor()
    assert.equal(await statusOf(key.value), 200)

    await confirm(page, 'Delete Batch', 'Delete key')
    await page.getByText('No API keys yet').waitFor()
    assert.equal(await statusOf(key.value), 401)
    assert.equal((await service.call('GET', `projects/${project.id}/keys/${key.id}`)).status, 404)
  },
)

/** Rotates a key in the list. Returns the new key's value. */
async function rotate(page, name, grace) {
  await page
    .getByRole('button', { name: `Rotate ${name}`, exact: true })
    .first()
    .click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Grace period').selectOption(grace)
  await dialog.getByRole('button', { name: 'Rotate', exact: true }).click()
  return dialog.getByRole('group', { name: 'New API key' }).locator('code').textContent()
}

journey('a rotated key keeps working for its grace period only', { as: 'owner' }, async ({ page }) => {
  const project = await service.project()
  const old = await service.key(project, { name: 'Rotating' })
  await page.goto(keysOf(project))
  const second = await rotate(page, 'Rotating', '3600')
  await page.getByText('The old key stops working in 1 hour').waitFor()
  assert.deepEqual([await statusOf(old.value), await statusOf(second)], [200, 200])
  await page.getByRole('link', { name: 'I’ve saved this key' }).click()
  await page.getByRole('heading', { name: 'Key Rotating' }).waitFor()

  const { keys } = await service.get(`projects/${project.id}/keys`)
  const replaced = keys.find(({ id }) => id === old.id)
  const replacement = keys.find(({ id }) => id !== old.id)
  assert.equal(replaced.replacedBy, replacement.id)
  await page.clock.setFixedTime(Date.parse(replaced.expiresAt) - 3_570_000) // however long the steps above took
  await page.goto(keysOf(project))
  await row(page, 'replaced').getByText('in 59 min').waitFor()

  await page.goto(`${keysOf(project)}/${replacement.id}`)
  const third = await rotate(page, 'Rotating', '0')
  await page.getByText('The old key no longer works').waitFor()
  assert.deepEqual([await statusOf(second), await statusOf(third)], [401, 200])
})

journey('the gateway enforces the limits and models set in the form', { as: 'owner' }, async ({ page }) => {
  const project = await service.project()
  await page.goto(`${keysOf(project)}/new`)
  await page.getByLabel('Name', { exact: true }).fill('Bounded')
  await page.getByText('Models, permissions, limits, budget, expiry').click()
  await page.getByLabel('Requests per second').fill('1')
  await page.getByLabel('Requests per day').fill('3')
  await page.getByRole('combobox', { name: 'Allowed models' }).fill('nickel')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  const value = await page.getByRole('group', { name: 'API key “' }).locator('code').textContent()

  const complete = (model) =>
    service
      .fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${value}` },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
      })
      .then(async (response) => [response.status, (await response.json()).error?.code])
  assert.deepEqual(await complete('dime'), [403, 'model_not_allowed'])
  const responses = await Promise.all(Array.from({ length: 4 }, () => complete('nickel')))
  const limited = responses.filter(([status]) => status === 429)
  assert.ok(limited.length > 0, `4 concurrent requests at 1 per second: ${JSON.stringify(responses)}`)
  assert.deepEqual(new Set(limited.map(([, code]) => code)), new Set(['rate_limit_exceeded']))

  const [key] = (await service.get(`projects/${project.id}/keys`)).keys
  assert.deepEqual(key.models, ['nickel'])
  const { requestsPerSecond, requestsPerDay, tokensPerMinute } = key.limits
  assert.deepEqual([requestsPerSecond, requestsPerDay, tokensPerMinute], [1, 3, null])
})

journey('an invalid value is reported at its field', { as: 'owner' }, async ({ page }) => {
  const project = await service.project()
  await page.goto(`${keysOf(project)}/new`)
  await page.getByLabel('Name', { exact: true }).fill('Odd')
  await page.getByText('Models, permissions, limits, budget, expiry').click()
  const field = page.getByLabel('Requests per second')
  await field.fill('many')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('alert').waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  assert.equal(await field.inputValue(), 'many', 'the input is kept')
  assert.deepEqual((await service.get(`projects/${project.id}/keys`)).keys, [])
})

journey('a long list of keys is paged, searched and filtered', { as: 'owner' }, async ({ page }) => {
  const project = await service.project()
  const names = Array.from({ length: 60 }, (_, i) => `Worker ${String(i).padStart(3, '0')}`)
  for (let i = 0; i < names.length; i += 4) {
    await Promise.all(names.slice(i, i + 4).map((name) => service.key(project, { name, environment: 'development' })))
  }
  await service.key(project, { name: 'The needle', kind: 'project' })
  await page.goto(keysOf(project))
  await page.getByText('50 keys loaded').waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByText('61 keys').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0)
  await page.getByLabel('Search by name').fill('needle')
  await page.getByText('1 key', { exact: true }).waitFor()
  await row(page, 'The needle').waitFor()
  await page.getByLabel('Search by name').fill('')
  await page.getByText('50 keys loaded').waitFor()
  await page.getByLabel('Environment').selectOption('production')
  await page.getByText('1 key', { exact: true }).waitFor()
  await page.reload()
  await page.getByText('1 key', { exact: true }).waitFor()
  assert.equal(await page.getByLabel('Environment').inputValue(), 'production', 'the filter is in the URL')
})

journey(
  'a new key defaults to the development environment until a provider is configured',
  { as: 'owner' },
  async ({ page }) => {
    const project = await service.project({ name: 'First steps' })
    await page.route('**/api/admin/projects/*/routes', async (route) => {
      const response = await route.fetch()
      const { tiers } = await response.json()
      for (const { targets } of tiers) for (const target of targets) target.ready = false
      await route.fulfill({ response, json: { tiers } })
    })
    await page.goto(`${keysOf(project)}/new`)
    await until(
      'development is the default',
      async () => (await page.getByLabel('Environment').inputValue()) === 'development',
    )
    await page.getByLabel('Environment').selectOption('production')
    await page.getByText('No provider is configured for this project').waitFor()
    await page.getByLabel('Environment').selectOption('development')
    await page.getByLabel('Name').fill('First')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('link', { name: 'Try it in the playground' }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByLabel('Response text').getByText('test mode').waitFor()
  },
)

/** The accessible name of the focused element. */
const focused = (page) =>
  page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim())

/** Presses Tab until an element with a matching name has the focus. */
async function tabTo(page, name) {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab')
    if (name.test(await focused(page))) return
  }
  assert.fail(`${name} is not reached with Tab`)
}

journey('keyboard only: sign in, create a key, close a dialog', {}, async ({ page }) => {
  const project = await service.project()
  await page.goto(keysOf(project))
  await page.getByLabel('Token', { exact: true }).waitFor()
  await until('the field has the focus', () =>
    page.getByLabel('Token', { exact: true }).evaluate((input) => input === document.activeElement),
  )
  await page.keyboard.type(`  ${service.tokens.owner} `)
  await page.keyboard.press('Enter')
  await page.getByText('No API keys yet').waitFor()

  await tabTo(page, /^Create key$/)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'New key' }).waitFor()
  await until('the heading has the focus', async () => (await focused(page)) === 'New key')
  for (let i = 0; i < 3; i++) await page.keyboard.press('Tab')
  await page.keyboard.type('Typed')
  await page.keyboard.press('Enter')
  await page.getByRole('group', { name: 'API key “Typed”' }).waitFor()
  await tabTo(page, /saved this key$/)
  await page.keyboard.press('Enter')
  await row(page, 'Typed').waitFor()

  await tabTo(page, /^Delete\s+Typed$/)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  assert.equal(await focused(page), 'Cancel', 'the safe button has the focus')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.match(await focused(page), /^Delete\s+Typed$/)
  assert.equal((await service.get(`projects/${project.id}/keys`)).keys.length, 1)
})
