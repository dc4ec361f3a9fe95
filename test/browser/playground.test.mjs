// The playground without a clipboard and with a masked key.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

journey('without a clipboard, the text to copy is shown and selected', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Plain http' })
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  await page.goto(`/dashboard/projects/${project.id}/playground`)
  const copy = page.getByRole('button', { name: 'Copy as curl' })
  const selection = () => page.evaluate(() => getSelection().toString())
  await copy.click()
  const shown = page.getByRole('region', { name: 'curl command' }).locator('code')
  assert.match(await shown.textContent(), /^curl -N .*\/api\/ai\/chat/)
  await until('it is selected', async () => (await selection()) === (await shown.textContent()))
  await page.locator('.notices').getByText('The text is selected').waitFor()

  await page.getByLabel('User message').fill('Something else')
  await page.evaluate(() => getSelection().removeAllRanges())
  await copy.click()
  await until('the new text is selected', async () => /Something else/.test(await selection()))
})

journey('a masked key is recognized', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Masked' })
  const { prefix, last4 } = await service.key(project)
  await page.goto(`/dashboard/projects/${project.id}/playground`)
  await page.getByRole('textbox', { name: 'API key' }).fill(`${prefix}…${last4}`)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('alert').getByText('This is a masked API key').waitFor()
  await page.getByText('Paste the full key').waitFor()
})
