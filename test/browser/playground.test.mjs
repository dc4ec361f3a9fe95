// What the playground does with what it is given, and gives.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

journey('without a clipboard, what is to be copied is shown and selected', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Plain http' })
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  await page.goto(`/dashboard/projects/${project.id}/playground`)
  const copy = page.getByRole('button', { name: 'Copy as curl' })
  const selection = () => page.evaluate(() => getSelection().toString())
  await copy.click()
  const shown = page.getByRole('region', { name: 'the curl command' }).locator('code')
  assert.match(await shown.textContent(), /^curl -N .*\/api\/ai\/chat/)
  await until('it is selected', async () => (await selection()) === (await shown.textContent()))
  await page.locator('.notices').getByText('the text is selected').waitFor()

  await page.getByLabel('User message').fill('Something else')
  await page.evaluate(() => getSelection().removeAllRanges())
  await copy.click()
  await until('it is selected anew', async () => /Something else/.test(await selection()))
})

journey('a key’s shortened form is known as such', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Shortened' })
  const { prefix, last4 } = await service.key(project)
  await page.goto(`/dashboard/projects/${project.id}/playground`)
  await page.getByRole('textbox', { name: 'Key' }).fill(`${prefix}…${last4}`)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('alert').getByText('This is the shortened form of a key').waitFor()
  await page.getByText('Paste the whole value').waitFor()
})
