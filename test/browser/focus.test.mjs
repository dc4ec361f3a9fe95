// Where the focus is when what had it is gone or has moved.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService } from './service.mjs'

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

journey('a dialog gives the focus back to the button that opened it', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Careful' })
  await service.key(project, { name: 'Kept' })
  await page.goto(`/dashboard/projects/${project.id}/keys`)
  for (const button of ['Delete', 'Rotate']) {
    await page.getByRole('button', { name: `${button} Kept` }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.match(await focused(page), new RegExp(`^${button}\\s+Kept$`))
  }
})
