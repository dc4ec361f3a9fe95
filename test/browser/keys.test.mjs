// A project's first steps, and what becomes of its keys.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)
const run = promisify(execFile)

const keysOf = (project) => `/dashboard/projects/${project.id}/keys`
const row = (page, name) => page.getByRole('row').filter({ hasText: name })
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()

/** Presses a key's button in the list, and the one of the dialog that asks. */
async function confirm(page, button, action) {
  await page.getByRole('button', { name: button, exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
}

/** The status that the gateway answers with. */
const statusOf = async (key, fields) => (await service.ask(key, fields)).status

journey(
  'from nothing to the first answer',
  { as: 'owner', permissions: ['clipboard-read', 'clipboard-write'] },
  async (visit) => {
    const { page } = visit
    await page.goto('/dashboard')
    await page.getByText('Make your first project').waitFor()
    await page.getByRole('link', { name: 'Create a project' }).click()
    await page.getByLabel('Name').fill('Support')
    await page.getByLabel('Plan').selectOption('small')
    await page.getByLabel('Budget in dollars').fill('$1,234.50')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByRole('heading', { name: 'New key' }).waitFor()
    await page.getByLabel('Name').fill('Backend')
    await page.getByRole('button', { name: 'Create key' }).click()

    const shown = page.getByRole('group', { name: 'Value of the key Backend' })
    const value = await shown.locator('code').textContent()
    assert.match(value, /^sk_live_\w{20,}$/)
    await shown.getByRole('button', { name: 'Copy' }).click()
    await notice(page, 'Copied')
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), value)

    const line = await page.getByRole('region', { name: 'curl' }).locator('code').textContent()
    const { stdout } = await run('sh', ['-c', line.replaceAll('curl ', 'curl -sS ')], {
      env: { PATH: process.env.PATH },
    })
    assert.equal(JSON.parse(stdout).text, 'Hello from upstream')

    await page.getByRole('link', { name: 'to the keys' }).click()
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

journey('a key is deactivated, reactivated and deleted, each after a question', { as: 'owner' }, async ({ page }) => {
  const project = await service.project()
  const key = await service.key(project, { name: 'Batch' })
  assert.equal(await statusOf(key.value), 200)
  await page.goto(keysOf(project))

  await page.getByRole('button', { name: 'Deactivate Batch' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await statusOf(key.value), 200, 'not confirmed')

  await confirm(page, 'Deactivate Batch', 'Deactivate')
  await row(page, 'Batch').getByText('inactive', { exact: true }).waitFor()
  const refused = await service.ask(key.value)
  assert.deepEqual([refused.status, refused.body.code], [401, 'invalid_api_key'])

  await confirm(page, 'Reactivate Batch', 'Reactivate')
  await row(page, 'Batch').getByText('active', { exact: true }).waitFor()
  assert.equal(await statusOf(key.value), 200)

  await confirm(page, 'Delete Batch', 'Delete for good')
  await page.getByText('This project has no keys').waitFor()
  assert.equal(await statusOf(key.value), 401)
  assert.equal((await service.call('GET', `projects/${project.id}/keys/${key.id}`)).status, 404)
})

/** Rotates a key in the list and gives the new value. */
async function rotate(page, name, grace) {
  await page
    .getByRole('button', { name: `Rotate ${name}`, exact: true })
    .first()
    .click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('The old one works for another').selectOption(grace)
  await dialog.getByRole('button', { name: 'Rotate', exact: true }).click()
  return dialog.getByRole('group', { name: 'Value of the new key' }).locator('code').textContent()
}

journey('a rotated key goes on working for its grace, and not without one', { as: 'owner' }, async ({ page }) => {
  const project = await service.project()
  const old = await service.key(project, { name: 'Rotating' })
  await page.goto(keysOf(project))
  const fresh = await rotate(page, 'Rotating', '3600')
  await page.getByText('The old key works for another 1 hour').waitFor()
  assert.deepEqual([await statusOf(old.value), await statusOf(fresh)], [200, 200])
  await page.getByRole('link', { name: 'I have kept it' }).click()
  await page.getByRole('heading', { name: 'Key Rotating' }).waitFor()

  await page.goto(keysOf(project))
  await row(page, 'replaced').getByText('in 59 min').waitFor()
  const { keys } = await service.get(`projects/${project.id}/keys`)
  const replaced = keys.find(({ id }) => id === old.id)
  const heir = keys.find(({ id }) => id !== old.id)
  assert.equal(replaced.replacedBy, heir.id)

  await page.goto(`${keysOf(project)}/${heir.id}`)
  const last = await rotate(page, 'Rotating', '0')
  await page.getByText('The old key has ended').waitFor()
  assert.deepEqual([await statusOf(fresh), await statusOf(last)], [401, 200])
})

journey('limits and models that the form sets hold', { as: 'owner' }, async ({ page }) => {
  const project = await service.project()
  await page.goto(`${keysOf(project)}/new`)
  await page.getByLabel('Name', { exact: true }).fill('Bounded')
  await page.getByText('Models, permissions, limits, expiry').click()
  await page.getByLabel('Requests per second').fill('1')
  await page.getByLabel('Requests per day').fill('3')
  await page.getByRole('combobox', { name: 'Models that it may use' }).fill('nickel')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  const value = await page.getByRole('group', { name: 'Value of the key' }).locator('code').textContent()

  const asked = (model) =>
    service
      .fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${value}` },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
      })
      .then(async (response) => [response.status, (await response.json()).error?.code])
  assert.deepEqual(await asked('dime'), [403, 'model_not_allowed'])
  const together = await Promise.all(Array.from({ length: 4 }, () => asked('nickel')))
  const limited = together.filter(([status]) => status === 429)
  assert.ok(limited.length > 0, `four at once by one a second: ${JSON.stringify(together)}`)
  assert.deepEqual(new Set(limited.map(([, code]) => code)), new Set(['rate_limit_exceeded']))

  const [key] = (await service.get(`projects/${project.id}/keys`)).keys
  assert.deepEqual(key.models, ['nickel'])
  assert.deepEqual(key.limits, { requestsPerSecond: 1, requestsPerDay: 3, tokensPerMinute: null })
})

journey('what a form has wrong is said beside its field', { as: 'owner' }, async ({ page }) => {
  const project = await service.project()
  await page.goto(`${keysOf(project)}/new`)
  await page.getByLabel('Name', { exact: true }).fill('Odd')
  await page.getByText('Models, permissions, limits, expiry').click()
  const field = page.getByLabel('Requests per second')
  await field.fill('many')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('alert').waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  assert.equal(await field.inputValue(), 'many', 'what was typed stays')
  assert.deepEqual((await service.get(`projects/${project.id}/keys`)).keys, [])
})

journey('a page full of keys is searched, filtered and continued', { as: 'owner' }, async ({ page }) => {
  const project = await service.project()
  const names = Array.from({ length: 60 }, (_, i) => `Worker ${String(i).padStart(3, '0')}`)
  for (let i = 0; i < names.length; i += 4) {
    await Promise.all(names.slice(i, i + 4).map((name) => service.key(project, { name, environment: 'development' })))
  }
  await service.key(project, { name: 'The needle', kind: 'project' })
  await page.goto(keysOf(project))
  await page.getByText('50 keys so far').waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByText('61 keys').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0)
  await page.getByLabel('Search by name').fill('needle')
  await page.getByText('1 key', { exact: true }).waitFor()
  await row(page, 'The needle').waitFor()
  await page.getByLabel('Search by name').fill('')
  await page.getByText('50 keys so far').waitFor()
  await page.getByLabel('Environment').selectOption('production')
  await page.getByText('1 key', { exact: true }).waitFor()
  await page.reload()
  await page.getByText('1 key', { exact: true }).waitFor()
  assert.equal(await page.getByLabel('Environment').inputValue(), 'production', 'the filter is in the address')
})

journey(
  'a first key is one that works: of the development environment until a provider is set up',
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
      'development is proposed',
      async () => (await page.getByLabel('Environment').inputValue()) === 'development',
    )
    await page.getByLabel('Environment').selectOption('production')
    await page.getByText('No provider is set up for this project yet').waitFor()
    await page.getByLabel('Environment').selectOption('development')
    await page.getByLabel('Name').fill('First')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('link', { name: 'Try it in the playground' }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByLabel('Text of the answer').getByText('test mode').waitFor()
  },
)

/** The element that has the focus, by its role's name or text. */
const focused = (page) =>
  page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim())

/** Tabs until something that is named like this has the focus. */
async function tabTo(page, name) {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab')
    if (name.test(await focused(page))) return
  }
  assert.fail(`${name} is not reached with Tab`)
}

journey('all by keyboard: sign in, create a key, close a dialog', {}, async ({ page }) => {
  const project = await service.project()
  await page.goto(keysOf(project))
  await page.getByLabel('Token', { exact: true }).waitFor()
  await until('the field has the focus', () =>
    page.getByLabel('Token', { exact: true }).evaluate((input) => input === document.activeElement),
  )
  await page.keyboard.type(`  ${service.tokens.owner} `)
  await page.keyboard.press('Enter')
  await page.getByText('This project has no keys').waitFor()

  await tabTo(page, /^Create key$/)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'New key' }).waitFor()
  await until('the heading has the focus', async () => (await focused(page)) === 'New key')
  for (let i = 0; i < 3; i++) await page.keyboard.press('Tab')
  await page.keyboard.type('Typed')
  await page.keyboard.press('Enter')
  await page.getByRole('group', { name: 'Value of the key Typed' }).waitFor()
  await tabTo(page, /to the keys$/)
  await page.keyboard.press('Enter')
  await row(page, 'Typed').waitFor()

  await tabTo(page, /^Delete\s+Typed$/)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  assert.equal(await focused(page), 'Cancel', 'the harmless button has the focus')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.match(await focused(page), /^Delete\s+Typed$/)
  assert.equal((await service.get(`projects/${project.id}/keys`)).keys.length, 1)
})
