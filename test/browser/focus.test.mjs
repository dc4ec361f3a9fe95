// Where the focus is when what had it is gone or has moved.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

/** The name of what has the focus. */
const focused = (page) =>
  page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim())

journey('after something is deleted the heading has the focus', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Tidied' })
  await service.key(project, { name: 'Gone' })
  await service.key(project, { name: 'Staying' })
  await service.admin('PUT', `projects/${project.id}/provider-keys/openai`, { key: 'sk-their-own-0123456789' })
  for (const [path, heading, button, action, gone] of [
    ['keys', 'Keys', 'Delete Gone', 'Delete for good', 'Gone'],
    ['provider-keys', 'Provider keys', 'Remove the key for openai', 'Remove key', '…6789'],
  ]) {
    await page.goto(`/dashboard/projects/${project.id}/${path}`)
    await page.getByRole('button', { name: button }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: action }).press('Enter')
    await page.getByRole('row').filter({ hasText: gone }).waitFor({ state: 'detached' })
    assert.equal(await focused(page), heading)
  }
})

/** Presses a button of a dialog, and tells what has the focus as soon as the dialog is gone. */
function leave(button) {
  return button.evaluate((element) => {
    const { promise, resolve } = Promise.withResolvers()
    const look = () => document.querySelector('dialog') ?? resolve(document.activeElement.textContent.trim())
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true })
    element.click()
    return promise
  })
}

journey('a dialog gives the focus back to the button that opened it', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Careful' })
  await service.key(project, { name: 'Kept' })
  await page.goto(`/dashboard/projects/${project.id}/keys`)
  for (const button of ['Delete', 'Rotate']) {
    await page.getByRole('button', { name: `${button} Kept` }).press('Enter')
    const left = await leave(page.getByRole('dialog').getByRole('button', { name: 'Cancel' }))
    assert.match(left, new RegExp(`^${button}\\s+Kept$`))
  }
})

journey('a target that is moved takes the focus along', { as: 'owner' }, async ({ page }) => {
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
    assert.equal(await focused(page), focus)
  }
  await page.getByRole('button', { name: 'Move target 3 up' }).focus()
  await enter('3,1,2', 'Move target 2 up')
  await enter('1,3,2', 'Move target 1 down') // the other button: at the top there is no way up
  await enter('3,1,2', 'Move target 2 down')
  await enter('3,2,1', 'Move target 3 up')
})

journey('what a key may do is restricted and set free again, from one place', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Permitted' })
  const { id } = await service.key(project, { name: 'Reader' })
  const allowed = async () => (await service.get(`projects/${project.id}/keys/${id}`)).permissions
  const all = await allowed()
  const save = () =>
    Promise.all([
      page.waitForResponse((response) => response.request().method() === 'PATCH'),
      page.getByRole('button', { name: 'Save', exact: true }).click(),
    ])
  await page.goto(`/dashboard/projects/${project.id}/keys/${id}`)
  await page.getByText('Models, permissions, limits, expiry').click()
  const restrict = page.getByLabel('Restrict what it may do')
  await restrict.press('Space')
  const completions = page.getByRole('group', { name: 'What it may do' }).getByLabel('Completions')
  await completions.waitFor()
  assert.equal(await restrict.evaluate((input) => input === document.activeElement), true, 'the focus stays')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  await save()
  assert.deepEqual(
    await allowed(),
    all.filter((name) => name !== 'completions'),
  )
  await page.reload()
  await page.getByText('Models, permissions, limits, expiry').click()
  assert.deepEqual([await restrict.isChecked(), await completions.isChecked()], [true, false])
  await restrict.press('Space')
  await completions.waitFor({ state: 'detached' })
  await save()
  assert.deepEqual(await allowed(), all)
})
