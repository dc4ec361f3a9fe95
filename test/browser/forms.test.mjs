// Forms send exactly the user's input, or nothing.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const keysOf = (project) => `projects/${project.id}/keys`
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()

/** Opens the form for a new key and fills in the name. */
async function startKey(page, project, name) {
  await page.goto(`/dashboard/${keysOf(project)}/new`)
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByText('Models, permissions, limits, budget, expiry').click()
}

/** Waits until the new key is shown. */
const created = (page, name) => page.getByRole('group', { name: `API key “${name}”` }).waitFor()

const INCOMPLETE = 'Enter both date and time, or clear the field.'

journey('an expiry without a time does not create a key without expiry', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Expiring' })
  await startKey(page, project, 'Guest')
  const field = page.getByLabel('Expires at (UTC)')
  await field.pressSequentially('12312030')
  await page.getByText('Models, permissions, limits, budget, expiry').click() // collapses it
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText(INCOMPLETE).waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  assert.equal(await field.evaluate((input) => input === document.activeElement), true)
  assert.deepEqual((await service.get(keysOf(project))).keys, [])

  await field.fill('2030-12-31T10:30')
  await page.getByText(INCOMPLETE).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Create key' }).click()
  await created(page, 'Guest')
  const [key] = (await service.get(keysOf(project))).keys
  assert.equal(key.expiresAt, '2030-12-31T10:30:00.000Z')
})

journey('a partly deleted expiry is not saved until it is complete or cleared', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Expiring' })
  const expiresAt = '2030-12-31T10:30:00.000Z'
  const { id } = await service.key(project, { expiresAt })
  const savedExpiry = async () => (await service.get(`${keysOf(project)}/${id}`)).expiresAt
  await page.goto(`/dashboard/${keysOf(project)}/${id}`)
  await page.getByText('Models, permissions, limits, budget, expiry').click()
  const field = page.getByLabel('Expires at (UTC)')
  await field.click({ position: { x: 20, y: 12 } })
  await page.keyboard.press('Backspace')
  assert.equal(await field.inputValue(), '', 'the browser reports no value')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText(INCOMPLETE).waitFor()
  assert.equal(await savedExpiry(), expiresAt)
  await field.fill('')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await notice(page, 'saved')
  assert.equal(await savedExpiry(), null)
})

const modelsOf = (page) => page.getByRole('combobox', { name: 'Allowed models' })

journey('a typed model counts for a key without “Add”', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Restricted' })
  await startKey(page, project, 'Narrow')
  await modelsOf(page).fill('dime')
  await modelsOf(page).press('Enter')
  await page.getByRole('list', { name: 'Allowed models' }).getByText('dime', { exact: true }).waitFor()
  assert.equal(await modelsOf(page).inputValue(), '')
  await modelsOf(page).pressSequentially(' nickel')
  await page.getByRole('button', { name: 'Create key' }).click()
  await created(page, 'Narrow')
  assert.deepEqual((await service.get(keysOf(project))).keys[0].models, ['dime', 'nickel'])
})

journey(
  'a typed model counts for a project without “Add”, and a removed one does not',
  { as: 'owner' },
  async ({ page }) => {
    const project = await service.project({ name: 'Restricted', models: ['nickel'] })
    const save = async (models) => {
      await Promise.all([
        page.waitForResponse((response) => response.request().method() === 'PATCH'),
        page.getByRole('button', { name: 'Save settings' }).click(),
      ])
      assert.deepEqual((await service.get(`projects/${project.id}`)).models, models)
      await until('the typed name is in the list', async () => (await modelsOf(page).inputValue()) === '')
    }
    await page.goto(`/dashboard/projects/${project.id}/settings`)
    await modelsOf(page).pressSequentially('nickel')
    assert.equal(
      await page.getByRole('button', { name: 'Save settings' }).isDisabled(),
      true,
      'a duplicate is no change',
    )
    await modelsOf(page).fill('dime')
    await save(['nickel', 'dime'])
    await page.getByRole('button', { name: 'Remove nickel' }).click()
    await modelsOf(page).fill('quarter')
    await modelsOf(page).fill('')
    await save(['dime'])
  },
)

journey('a decimal comma is rejected with the expected format', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Frugal', budget: 5 })
  await page.goto(`/dashboard/projects/${project.id}/settings`)
  const field = page.getByLabel('Budget (USD)')
  await field.fill('2,50')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await page.getByText(/must be a dollar amount/).waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  assert.equal((await service.get(`projects/${project.id}`)).budget, 5)
  await field.fill('2.50')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await notice(page, 'Settings saved')
  assert.equal((await service.get(`projects/${project.id}`)).budget, 2.5)
})

journey(
  'the cache is turned off and on, and a global one has a TTL of at least a minute',
  { as: 'owner' },
  async ({ page }) => {
    const project = await service.project({ name: 'Repetitive', cacheTtlSeconds: 30 })
    const at = `/dashboard/projects/${project.id}/settings`
    await page.goto(at)
    const scope = page.getByLabel('Cache', { exact: true })
    const ttl = page.getByLabel('Cache TTL (seconds)')
    const save = page.getByRole('button', { name: 'Save settings' })
    const saves = async (cache, seconds) => {
      await save.click()
      await until(`${cache} is saved`, async () => {
        const now = await service.get(`projects/${project.id}`)
        return now.cache === cache && now.cacheTtlSeconds === seconds
      })
      await notice(page, 'Settings saved') // until then, leaving the page would lose changes
      await page.goto(at)
      await scope.waitFor()
      assert.equal(await scope.inputValue(), cache)
    }
    assert.equal(await scope.inputValue(), 'colo')
    await scope.selectOption('global')
    await page.getByText('Enter a whole number of seconds, at least 60.').waitFor()
    await save.click()
    await page.getByText(/must be at least 60 with cache global/).waitFor()
    assert.equal(await ttl.getAttribute('aria-invalid'), 'true')
    await ttl.fill('60')
    await saves('global', 60)
    await ttl.fill('900')
    await scope.selectOption('off')
    assert.ok(await ttl.isDisabled())
    await saves('off', 0)
    await scope.selectOption('colo')
    assert.equal(await ttl.inputValue(), '3600')
    await saves('colo', 3600)
    await ttl.fill('5')
    await saves('colo', 5)
  },
)

journey('the cap on responses without max_tokens is switched off and on again', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Long-winded' })
  await page.goto(`/dashboard/projects/${project.id}/settings`)
  const box = page.getByRole('checkbox', { name: 'Don’t limit the output of requests without max_tokens' })
  for (const unbounded of [true, false]) {
    await box.click()
    await page.getByRole('button', { name: 'Save settings' }).click()
    await until('it is saved', async () => (await service.get(`projects/${project.id}`)).unbounded === unbounded)
    await notice(page, 'Settings saved')
    await page.reload()
    await box.waitFor()
    assert.equal(await box.isChecked(), unbounded)
  }
})
