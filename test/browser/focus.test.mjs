// The focus after the focused element has been removed or moved.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

/** The accessible name of the focused element. */
const focused = (page) =>
  page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim())

journey('the heading has the focus after a deletion', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Tidied' })
  await service.key(project, { name: 'Gone' })
  await service.key(project, { name: 'Staying' })
  await service.admin('PUT', `projects/${project.id}/provider-keys/openai`, { key: 'sk-their-own-0123456789' })
  for (const [path, heading, button, action, deleted] of [
    ['keys', 'API keys', 'Delete Gone', 'Delete key', 'Gone'],
    ['provider-keys', 'Provider keys', 'Remove the key for openai', 'Remove key', '…6789'],
  ]) {
    await page.goto(`/dashboard/projects/${project.id}/${path}`)
    await page.getByRole('button', { name: button, disabled: false }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: action }).press('Enter')
    await page.getByRole('row').filter({ hasText: deleted }).waitFor({ state: 'detached' })
    await until(`${heading} has the focus`, async () => (await focused(page)) === heading)
  }
})

/** Clicks a button of a dialog. Returns the text of the element that has the focus as soon as the dialog is closed. */
function focusedAfter(button) {
  return button.evaluate((element) => {
    const { promise, resolve } = Promise.withResolvers()
    const look = () => document.querySelector('dialog') ?? resolve(document.activeElement.textContent.trim())
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true })
    element.click()
    return promise
  })
}

journey('a closed dialog returns the focus to the button that opened it', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Careful' })
  await service.key(project, { name: 'Kept' })
  await page.goto(`/dashboard/projects/${project.id}/keys`)
  for (const button of ['Delete', 'Rotate']) {
    await page.getByRole('button', { name: `${button} Kept`, disabled: false }).press('Enter')
    const name = await focusedAfter(page.getByRole('dialog').getByRole('button', { name: 'Cancel' }))
    assert.match(name, new RegExp(`^${button}\\s+Kept$`))
  }
})

journey('a moved target keeps the focus', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Routed' })
  const targets = ['nickel', 'dime', 'nickel'].map((model, i) => ({ model, weight: 3 - i }))
  await service.admin('PATCH', `projects/${project.id}`, { routes: { balanced: { strategy: 'weighted', targets } } })
  await page.goto(`/dashboard/projects/${project.id}/routes`)
  await page.getByRole('button', { name: 'Edit balanced' }).click()
  const weights = () =>
    page.getByLabel(/^Weight of target/).evaluateAll((inputs) => inputs.map(({ value }) => value).join())
  const enter = async (order, focus) => {
    await page.keyboard.press('Enter')
    await until(`the order is ${order}`, async () => (await weights()) === order)
    await until(`${focus} has the focus`, async () => (await focused(page)) === focus)
  }
  await page.getByRole('button', { name: 'Move target 3 up' }).focus()
  await enter('3,1,2', 'Move target 2 up')
  await enter('1,3,2', 'Move target 1 down') // the first target cannot move up, so its "up" is disabled
  await enter('3,1,2', 'Move target 2 down')
  await enter('3,2,1', 'Move target 3 up')
})

journey('a key’s permissions are restricted and restored', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Permitted' })
  const { id } = await service.key(project, { name: 'Reader' })
  const permissions = async () => (await service.get(`projects/${project.id}/keys/${id}`)).permissions
  const all = await permissions()
  const save = async () => {
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.locator('.notices').getByText('Key Reader saved').waitFor() // until then, leaving the page would lose changes
  }
  const openForm = async () => {
    await page.getByText('None among the recent requests of the project.').waitFor() // when this text appears, the form moves
    await page.getByText('Models, permissions, limits, budget, expiry').click()
  }
  await page.goto(`/dashboard/projects/${project.id}/keys/${id}`)
  await openForm()
  const restrict = page.getByLabel('Restrict permissions')
  await restrict.waitFor()
  await restrict.press('Space')
  const completions = page.getByRole('group', { name: 'Permissions' }).getByLabel('Completions')
  await completions.waitFor()
  assert.equal(await restrict.evaluate((input) => input === document.activeElement), true, 'the focus stays')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  await save()
  assert.deepEqual(
    await permissions(),
    all.filter((name) => name !== 'completions'),
  )
  await page.reload()
  await openForm()
  assert.deepEqual([await restrict.isChecked(), await completions.isChecked()], [true, false])
  await restrict.press('Space')
  await completions.waitFor({ state: 'detached' })
  await save()
  assert.deepEqual(await permissions(), all)
})
