// The model registry and the compliance data.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const at = (project, page) => `/dashboard/projects/${project.id}/${page}`
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()
const ask = (key, model) =>
  service.complete(key.value, { model, messages: [{ role: 'user', content: `Hi ${Math.random()}` }] })

/** Moves the open model to another state. */
async function move(page, button, reason = '') {
  await page.getByRole('button', { name: button, exact: true }).click()
  const dialog = page.getByRole('dialog')
  if (reason) await dialog.getByLabel(/^Reason/).fill(reason)
  await dialog.getByRole('button', { name: button, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

journey('a discovered model is approved, then retired and refused', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Registered' })
  const key = await service.key(project)
  assert.equal((await service.complete(key.value, { quality: 'cheap' })).status, 200)
  await page.goto(at(project, 'registry'))
  await until('the model is discovered', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click()
    return page.getByRole('row', { name: /nickel.*discovered/ }).isVisible()
  })
  await page.getByLabel('Enforcement of the registry').selectOption('enforce')
  await page.getByRole('button', { name: 'Save enforcement' }).click()
  await notice(page, 'Enforcement saved')
  const registry = () => service.get(`projects/${project.id}/models-registry`)
  assert.equal((await registry()).enforcement, 'enforce')

  await page.getByRole('link', { name: 'nickel' }).click()
  await move(page, 'Submit for approval')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Approve' }).click()
  await dialog.getByText('is required to make a model approved').waitFor()
  await dialog.getByLabel('Reason').fill('Reviewed by legal')
  await dialog.getByRole('button', { name: 'Approve' }).click()
  await notice(page, 'Model nickel: approved')
  await page.getByRole('table', { name: 'Approvals' }).getByText('Reviewed by legal').waitFor()
  assert.equal((await ask(key, undefined)).status, 200)

  await page.getByLabel('Owner').fill('Platform team')
  await page.getByLabel('Risk tier').selectOption('limited')
  await page.getByLabel('Review date').fill('2020-01-31')
  await page.getByLabel('Data classes, one per line').fill('public\ninternal')
  await page.getByRole('button', { name: 'Save record' }).click()
  await notice(page, 'Model nickel saved')
  await page.getByText('overdue').waitFor()
  const [entry] = (await registry()).models
  assert.deepEqual(
    [entry.owner, entry.riskTier, entry.dataClasses, entry.state],
    ['Platform team', 'limited', ['public', 'internal'], 'approved'],
  )

  await page.getByRole('button', { name: 'Deprecate' }).click()
  await dialog.getByLabel('Successor').fill('dime')
  await dialog.getByLabel('Sunset date').fill('2035-01-31')
  await dialog.getByRole('button', { name: 'Deprecate' }).click()
  await notice(page, 'Model nickel: deprecated')
  const warned = await service.complete(key.value, {
    quality: 'cheap',
    messages: [{ role: 'user', content: 'Still there?' }],
  })
  assert.equal(warned.headers.get('x-postern-successor'), 'dime')
  await move(page, 'Retire')
  await notice(page, 'Model nickel: retired')
  const refused = await service.complete(key.value, {
    quality: 'cheap',
    messages: [{ role: 'user', content: 'Gone?' }],
  })
  assert.ok(refused.status >= 400, `a retired model answered with ${refused.status}`)
  assert.equal(await page.getByRole('table', { name: 'Changes of state' }).getByRole('row').count(), 5)
})

journey('a model is added before its first use and restricted to a key', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Restricted' })
  const allowed = await service.key(project, { name: 'Allowed' })
  const other = await service.key(project, { name: 'Other' })
  await page.goto(at(project, 'registry'))
  await page.getByText('No models yet').waitFor()
  await page.getByRole('link', { name: 'Add model' }).first().click()
  await page.getByLabel('Model', { exact: true }).fill('unheard-of')
  await page.getByRole('button', { name: 'Add model' }).click()
  await page.locator('.field-error').getByText('must be a model of the catalog').waitFor()
  await page.getByLabel('Model', { exact: true }).fill('dime')
  await page.getByRole('button', { name: 'Add model' }).click()
  await notice(page, 'Model dime added')
  await page.getByRole('button', { name: 'Restrict', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Allowed').check()
  await dialog.getByLabel('Reason').fill('Pilot')
  await dialog.getByRole('button', { name: 'Restrict' }).click()
  await notice(page, 'Model dime: restricted')
  await page.getByRole('link', { name: 'Allowed' }).waitFor()
  await service.admin('PUT', `projects/${project.id}/models-registry/enforcement`, { enforcement: 'enforce' })
  const frontier = (key) => service.complete(key.value, { quality: 'frontier' })
  assert.equal((await frontier(allowed)).status, 200)
  assert.ok((await frontier(other)).status >= 400, 'another key used the model')
})

journey('two owners change a model: the second reviews the first change', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Contested' })
  const registry = `projects/${project.id}/models-registry`
  const entry = await service.admin('POST', registry, { model: 'nickel' })
  await page.goto(at(project, `registry/${entry.id}`))
  await page.getByLabel('Owner').fill('Mine')
  await service.admin('POST', `${registry}/${entry.id}/transitions`, { to: 'blocked', reason: 'Incident' })
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('Fine')
  await dialog.getByRole('button', { name: 'Approve' }).click()
  await dialog.getByText('Conflict with the current state').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Submit for approval' }).waitFor()
  assert.equal(await page.getByLabel('Owner').inputValue(), 'Mine', 'the edit in the form is kept')
})

journey('a viewer reads the registry', { as: 'viewer' }, async ({ page }) => {
  const project = await service.project({ name: 'Read only' })
  const entry = await service.admin('POST', `projects/${project.id}/models-registry`, { model: 'nickel' })
  await page.goto(at(project, 'registry'))
  await page.getByRole('link', { name: 'nickel' }).waitFor()
  await page.getByText('You are signed in as a viewer').waitFor() // until then, nobody can make changes
  assert.equal(await page.getByRole('button', { name: 'Add model' }).isDisabled(), true)
  assert.equal(await page.getByLabel('Enforcement of the registry').isDisabled(), true)
  await page.goto(at(project, `registry/${entry.id}`))
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor()
  await page.getByText('You are signed in as a viewer').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Approve', exact: true }).isDisabled(), true)
})

journey('compliance data is verified and downloaded', { as: 'viewer' }, async ({ page }) => {
  const project = await service.project({ name: 'Audited' })
  await service.admin('PATCH', `projects/${project.id}`, { name: 'Audited twice' })
  await service.admin('POST', `projects/${project.id}/models-registry`, { model: 'nickel' })
  await page.goto(at(project, 'compliance'))
  await page.getByText('disabled: content is not checked').waitFor()
  await page.getByRole('row', { name: /^Changes/ }).waitFor()
  await page.getByRole('button', { name: 'Verify records' }).click()
  await page.getByText('verified', { exact: true }).waitFor()

  const download = async () => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') }
  }
  await page.getByLabel('Type').selectOption('audit')
  const audit = await download()
  assert.equal(audit.name, `${project.id}-audit.ndjson`)
  const lines = audit.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.ok(
    lines.some((line) => JSON.stringify(line).includes('Audited twice')),
    audit.text.slice(0, 2000),
  )
  await page.getByLabel('Type').selectOption('inventory')
  await page.getByLabel('Format').selectOption('cyclonedx')
  const bom = await download()
  assert.equal(bom.name, `${project.id}-inventory.cdx.json`)
  assert.equal(JSON.parse(bom.text).bomFormat, 'CycloneDX')
})

journey('a broken chain is shown with its entry', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Tampered' })
  const broken = { object: 'ledger', seq: 7, problem: 'it was changed' }
  await page.route('**/compliance/verify', (route) =>
    route.fulfill({ json: { ok: false, complete: false, entries: 6, checkpoints: 0, broken, next: null } }),
  )
  await page.goto(at(project, 'compliance'))
  await page.getByRole('button', { name: 'Verify records' }).click()
  await page.getByText('Entry 7 of the chain “Usage and violations”: it was changed.').waitFor()
})
