// What was typed is what is sent, or nothing is.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const keysOf = (project) => `projects/${project.id}/keys`
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()

/** Opens the form for a new key, with a name in it. */
async function startKey(page, project, name) {
  await page.goto(`/dashboard/${keysOf(project)}/new`)
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByText('Models, permissions, limits, expiry').click()
}

/** Until the new key is shown. */
const made = (page, name) => page.getByRole('group', { name: `Value of the key ${name}` }).waitFor()

const WHOLE = 'Give both the date and the time, or clear the field.'

journey('an expiry without its time makes no key that lasts for ever', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Expiring' })
  await startKey(page, project, 'Guest')
  const field = page.getByLabel('Expires at (UTC)')
  await field.pressSequentially('12312030')
  await page.getByText('Models, permissions, limits, expiry').click() // folds it away
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText(WHOLE).waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  assert.equal(await field.evaluate((input) => input === document.activeElement), true)
  assert.deepEqual((await service.get(keysOf(project))).keys, [])

  await field.fill('2030-12-31T10:30')
  await page.getByText(WHOLE).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Create key' }).click()
  await made(page, 'Guest')
  const [key] = (await service.get(keysOf(project))).keys
  assert.equal(key.expiresAt, '2030-12-31T10:30:00.000Z')
})

journey('an expiry of which a part is taken out stays until it is whole or gone', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Expiring' })
  const expiresAt = '2030-12-31T10:30:00.000Z'
  const { id } = await service.key(project, { expiresAt })
  const present = async () => (await service.get(`${keysOf(project)}/${id}`)).expiresAt
  await page.goto(`/dashboard/${keysOf(project)}/${id}`)
  await page.getByText('Models, permissions, limits, expiry').click()
  const field = page.getByLabel('Expires at (UTC)')
  await field.click({ position: { x: 20, y: 12 } })
  await page.keyboard.press('Backspace')
  assert.equal(await field.inputValue(), '', 'it has no value any more')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText(WHOLE).waitFor()
  assert.equal(await present(), expiresAt)
  await field.fill('')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await notice(page, 'saved')
  assert.equal(await present(), null)
})

const modelsOf = (page) => page.getByRole('combobox', { name: /^Models that/ })

journey('a model that was typed and not added is in the key’s list', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Restricted' })
  await startKey(page, project, 'Narrow')
  await modelsOf(page).fill('dime')
  await modelsOf(page).press('Enter')
  await page.getByRole('list', { name: 'Models that it may use' }).getByText('dime', { exact: true }).waitFor()
  assert.equal(await modelsOf(page).inputValue(), '')
  await modelsOf(page).pressSequentially(' nickel')
  await page.getByRole('button', { name: 'Create key' }).click()
  await made(page, 'Narrow')
  assert.deepEqual((await service.get(keysOf(project))).keys[0].models, ['dime', 'nickel'])
})

journey('nor is one left out of a project’s list, and what is taken out is out', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Restricted', models: ['nickel'] })
  const save = async (models) => {
    await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'PATCH'),
      page.getByRole('button', { name: 'Save settings' }).click(),
    ])
    assert.deepEqual((await service.get(`projects/${project.id}`)).models, models)
    await until('all of it is in the list', async () => (await modelsOf(page).inputValue()) === '')
  }
  await page.goto(`/dashboard/projects/${project.id}/settings`)
  await modelsOf(page).pressSequentially('nickel')
  assert.equal(await page.getByRole('button', { name: 'Save settings' }).isDisabled(), true, 'it is there already')
  await modelsOf(page).fill('dime')
  await save(['nickel', 'dime'])
  await page.getByRole('button', { name: 'Remove nickel' }).click()
  await modelsOf(page).fill('quarter')
  await modelsOf(page).fill('')
  await save(['dime'])
})

journey('a decimal comma is refused, with what to write', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Frugal', budget: 5 })
  await page.goto(`/dashboard/projects/${project.id}/settings`)
  const field = page.getByLabel('Budget in dollars')
  await field.fill('2,50')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await page.getByText('must be a number, such as 1234.5').waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  assert.equal((await service.get(`projects/${project.id}`)).budget, 5)
  await field.fill('2.50')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await notice(page, 'Settings saved')
  assert.equal((await service.get(`projects/${project.id}`)).budget, 2.5)
})

journey('a project is unbounded, and bounded again', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Long-winded' })
  await page.goto(`/dashboard/projects/${project.id}/settings`)
  const box = page.getByRole('checkbox', { name: 'Don’t limit answers without max_tokens' })
  for (const unbounded of [true, false]) {
    await box.click()
    await page.getByRole('button', { name: 'Save settings' }).click()
    await until('it is saved', async () => (await service.get(`projects/${project.id}`)).unbounded === unbounded)
    await page.reload()
    await box.waitFor()
    assert.equal(await box.isChecked(), unbounded)
  }
})
