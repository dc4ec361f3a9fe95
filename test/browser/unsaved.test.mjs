// Leaving a page with unsaved changes.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)
const project = await service.project({ name: 'Edited', plan: 'guarded' })
const key = await service.key(project, { name: 'Backend' })
const entry = await service.admin('POST', `projects/${project.id}/models-registry`, { model: 'dime' })

const question = (page) => page.getByRole('dialog', { name: 'Leave without saving?' })
const link = (page, name) => page.getByRole('navigation').getByRole('link', { name, exact: true })
const headed = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor()
const field = (label) => (page) => page.getByLabel(label, { exact: true })
const leave = (page) => question(page).getByRole('button', { name: 'Leave without saving' }).click()
const at = (path) => `/dashboard/projects/${project.id}/${path}`
const SETTINGS = at('settings')
const nameOf = field('Name')

// Each case has a path, the steps to the form, a field, an unsaved value, and the unchanged value.
const FORMS = [
  [SETTINGS, null, nameOf, 'Renamed', 'Edited'],
  [SETTINGS, null, field('Webhook URL'), 'https://example.com/hook', ''],
  [at('governor'), null, field('Auto-approve threshold'), '77', '30'],
  [at(`keys/${key.id}`), null, nameOf, 'Frontend', 'Backend'],
  [at('keys/new'), null, nameOf, 'Frontend', ''],
  [at('provider-keys'), null, field('Key for openai'), 'sk-their-own', ''],
  [at(`registry/${entry.id}`), null, field('Owner'), 'Platform team', ''],
  [at('registry/new'), null, field('Model'), 'nickel', ''],
  ['/dashboard/projects/new', null, nameOf, 'Another', ''],
  [at('routes'), 'Edit balanced', field('Model of target 1'), 'dime', 'nickel'],
]

journey(
  'every form asks before its changes are lost, and no form without changes',
  { as: 'owner' },
  async ({ page }) => {
    for (const [path, button, find, value, clean] of FORMS) {
      await page.goto(path)
      if (button) await page.getByRole('button', { name: button }).click()
      const input = find(page)
      await input.waitFor()
      assert.equal(await input.inputValue(), clean, path)
      await input.fill(value)
      await link(page, 'Models and prices').click()
      await question(page).waitFor()
      await page.keyboard.press('Escape')
      await question(page).waitFor({ state: 'detached' })
      assert.equal(await input.inputValue(), value, path)
      await input.fill(clean)
      await link(page, 'Models and prices').click()
      await headed(page, 'Models and prices')
      assert.equal(await question(page).count(), 0, path)
    }
  },
)

journey(
  'a link leaves without saving only after the answer, and no question comes after saving',
  { as: 'owner' },
  async ({ page }) => {
    await page.goto(SETTINGS)
    await nameOf(page).fill('Never saved')
    await link(page, 'Settings').click() // the same page
    await link(page, 'Routes').click()
    await question(page).waitFor()
    assert.equal(new URL(page.url()).pathname, SETTINGS)
    await leave(page)
    await headed(page, 'Routes')
    assert.equal((await service.get(`projects/${project.id}`)).name, 'Edited')

    await link(page, 'Settings').click()
    await nameOf(page).fill('Edited twice')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.locator('.notices').getByText('Settings saved').waitFor()
    await link(page, 'Routes').click()
    await headed(page, 'Routes')
    assert.equal(await question(page).count(), 0)
    await service.admin('PATCH', `projects/${project.id}`, { name: 'Edited' })
  },
)

journey('“back” and “forward” ask, and keep the history', { as: 'owner' }, async ({ page }) => {
  await page.goto(at('routes'))
  for (const name of ['Settings', 'API keys']) await link(page, name).click()
  await headed(page, 'API keys')
  await page.goBack()
  await nameOf(page).fill('Unsaved')
  for (const step of ['goBack', 'goForward']) {
    await page[step]()
    await question(page).getByRole('button', { name: 'Stay on this page' }).click()
    await until('the page’s URL is back', () => new URL(page.url()).pathname === SETTINGS)
    assert.equal(await nameOf(page).inputValue(), 'Unsaved')
  }
  await page.goBack()
  await leave(page)
  await headed(page, 'Routes')
  assert.equal(new URL(page.url()).pathname, at('routes'))
  await page.goForward()
  await headed(page, 'Settings')
  assert.equal(await nameOf(page).inputValue(), 'Edited')
  await page.goForward()
  await headed(page, 'API keys')
  assert.equal(await question(page).count(), 0)
})

journey('closing the tab asks as long as changes are unsaved', { as: 'owner' }, async (visit) => {
  const { page } = visit
  visit.asks = true
  await page.goto(SETTINGS)
  await nameOf(page).click() // a browser asks only if the user has interacted with the page
  const save = (idle) => page.locator(`button[aria-disabled=true]:text("Save settings")`).waitFor({ state: idle })
  await nameOf(page).fill('Unsaved')
  await save('detached')
  const dialog = page.waitForEvent('dialog')
  await page.close({ runBeforeUnload: true })
  assert.equal((await dialog).type(), 'beforeunload')
  assert.equal(await nameOf(page).inputValue(), 'Unsaved')
  await nameOf(page).fill('Edited')
  await save('visible')
  const closed = page.waitForEvent('close')
  await page.close({ runBeforeUnload: true })
  await closed
  assert.equal(visit.asked.length, 1)
})

journey('signing out asks, too', { as: 'owner' }, async ({ page }) => {
  await page.goto(SETTINGS)
  await nameOf(page).fill('Unsaved')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await leave(page)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
})
