// A project's settings, routes, provider keys and archiving; the playground; the audit log.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const at = (project, page) => `/dashboard/projects/${project.id}/${page}`
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()

journey(
  'two tabs save the same settings: the second gets a conflict and keeps its edits',
  { as: 'owner' },
  async (visit) => {
    const project = await service.project({ name: 'Shared', budget: 5 })
    const [first, second] = [visit.page, await visit.open()]
    for (const page of [first, second]) {
      await page.goto(at(project, 'settings'))
      await page.getByLabel('Budget (USD)').waitFor()
    }
    await first.getByLabel('Budget (USD)').fill('7')
    await first.getByRole('button', { name: 'Save settings' }).click()
    await notice(first, 'Settings saved')

    await second.getByLabel('Name').fill('Shared by two')
    await second.getByRole('button', { name: 'Save settings' }).click()
    await second.getByText('Someone else saved changes while you were editing').waitFor()
    assert.equal((await service.get(`projects/${project.id}`)).name, 'Shared')
    assert.equal(await second.getByLabel('Name').inputValue(), 'Shared by two')
    await second.getByRole('button', { name: 'Reload and keep my edits' }).click()
    await until(
      'the first tab’s budget is in the form',
      async () => (await second.getByLabel('Budget (USD)').inputValue()) === '7',
    )
    assert.equal(await second.getByLabel('Name').inputValue(), 'Shared by two')
    await second.getByRole('button', { name: 'Save settings' }).click()
    await notice(second, 'Settings saved')
    const saved = await service.get(`projects/${project.id}`)
    assert.deepEqual([saved.name, saved.budget], ['Shared by two', 7])
  },
)

journey('a tier is overridden and reset to the catalog’s targets', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Routed' })
  const { value } = await service.key(project)
  const model = async (content) => (await service.complete(value, { messages: [{ role: 'user', content }] })).body.model
  assert.equal(await model('One?'), 'nickel')
  await page.goto(at(project, 'routes'))
  await page.getByRole('button', { name: 'Edit balanced' }).click()
  const form = page.getByRole('form', { name: 'Route balanced' })
  await form.getByLabel('Strategy').selectOption('ordered')
  await form.getByRole('button', { name: 'Move target 2 up' }).click()
  await form.getByRole('button', { name: 'Save route' }).click()
  await notice(page, 'Route balanced saved')
  const first = page.getByRole('table', { name: 'Targets of balanced' }).getByRole('row').nth(1)
  await until('dime is the first target', async () => /^1\s*dime/.test(await first.textContent()))
  assert.equal(await model(`Two? ${Math.random()}`), 'dime')

  await page.getByRole('button', { name: 'Reset balanced to default' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Reset to default' }).click()
  await notice(page, 'Route balanced reset to default')
  assert.deepEqual((await service.get(`projects/${project.id}`)).routes, {})
  assert.equal(await model(`Three? ${Math.random()}`), 'nickel')
})

journey('a provider key is used and never shown again', { as: 'owner' }, async (visit) => {
  const { page } = visit
  const project = await service.project({ name: 'Bring your own' })
  const { value } = await service.key(project)
  const secret = 'sk-their-own-0123456789abcdef'
  await page.goto(at(project, 'provider-keys'))
  await page.getByLabel('Provider', { exact: true }).selectOption('openai')
  await page.getByLabel('Key for openai').fill(secret)
  assert.equal(await page.getByLabel('Key for openai').getAttribute('type'), 'password')
  await page.getByRole('button', { name: 'Set key' }).click()
  await notice(page, 'Key for openai set')
  await page.getByRole('row', { name: `openai …${secret.slice(-4)}` }).waitFor()
  assert.equal(await page.getByLabel('Key for openai').inputValue(), '')
  for (const path of ['provider-keys', 'settings', 'requests', 'keys']) {
    await page.goto(at(project, path), { waitUntil: 'networkidle' })
  }
  await page.goto('/dashboard/audit', { waitUntil: 'networkidle' })
  await visit.checkAbsent(secret, 'the provider key')

  assert.equal((await service.complete(value)).status, 200)
  const last = (await service.seen()).at(-1)
  assert.ok(JSON.stringify(last).includes(secret), 'the request used the project’s own key')

  await page.goto(at(project, 'provider-keys'))
  await page.getByRole('button', { name: 'Remove the key for openai' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove key' }).click()
  await page.getByText('No provider keys yet').waitFor()
  await service.complete(value, { messages: [{ role: 'user', content: `And now? ${Math.random()}` }] })
  assert.ok(JSON.stringify((await service.seen()).at(-1)).includes('sk-upstream'), 'the deployment’s key is used again')
})

journey('an archived project’s keys are rejected until it is restored', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Seasonal' })
  const { value } = await service.key(project)
  const press = async (action) => {
    await page.getByRole('button', { name: action }).click()
    await page.getByRole('dialog').getByRole('button', { name: action }).click()
  }
  await page.goto(at(project, 'settings'))
  await press('Archive project')
  await page.getByText('This project is archived').first().waitFor()
  assert.equal((await service.complete(value)).status, 401)
  await page.goto('/dashboard/projects?q=Seasonal')
  await page.getByText('No projects match').waitFor()
  await page.getByLabel('Status').selectOption('archived')
  await page.getByRole('link', { name: 'Seasonal' }).click()
  await page.getByRole('link', { name: 'Restore it in Settings' }).click()
  await press('Restore project')
  await notice(page, 'Project restored')
  assert.equal((await service.complete(value)).status, 200)
})

/** The facts that the playground lists below a response. */
async function facts(page) {
  const pairs = await page
    .locator('dl.fact-list > div')
    .evaluateAll((rows) =>
      rows.map((row) => [row.querySelector('dt').textContent, row.querySelector('dd').textContent]),
    )
  return Object.fromEntries(pairs)
}

journey(
  'the playground streams a response with its cost, and gets the second one from the cache',
  { as: 'owner' },
  async (visit) => {
    const { page, context } = visit
    const project = await service.project({ name: 'Played with' })
    const { value } = await service.key(project)
    await page.goto(at(project, 'playground'))
    await page.getByRole('textbox', { name: 'API key' }).fill(value)
    await page.getByLabel('User message').fill('Please count to 7')

    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Complete', { exact: true }).waitFor()
    const responseText = page.getByLabel('Response text')
    assert.equal(await responseText.textContent(), '1 2 3 4 5 6 7')
    const first = await until('the cost is shown', async () => {
      const shown = await facts(page)
      return /\$/.test(shown.Cost) && shown
    })
    assert.deepEqual(
      [first.Provider, first.Model, first.Cache, first.Cost, first.Tokens],
      ['openai', 'nickel', 'miss', '$0.05', '100 in, 50 out'],
    )
    assert.match(first['Total time'], /^[\d.]+ m?s$/)
    assert.match(first['Time to first token'], /^[\d.]+ m?s$/)
    assert.match(first['Request ID'], /^req_/)

    await page.getByRole('button', { name: 'Send' }).click()
    const second = await until('a cache hit', async () => {
      const shown = await facts(page)
      return shown.Cache === 'hit' && shown.Cost && shown
    })
    assert.equal(second.Cost, '$0.00')
    assert.equal(await responseText.textContent(), '1 2 3 4 5 6 7')

    const storage = await context.storageState()
    const stored = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]),
    )
    assert.ok(!(JSON.stringify(storage) + stored).includes(value), 'the key is in the page’s memory only')
    await visit.checkAbsent(value, 'the key')
  },
)

journey('the playground shows an error with its remedy, and stops a response', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Played badly' })
  const { value } = await service.key(project)
  await page.goto(at(project, 'playground'))
  await page.getByRole('textbox', { name: 'API key' }).fill('sk_live_wrong')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('alert').getByText('invalid_api_key').waitFor()
  await page.getByText('Check that the key is complete, active and not expired').waitFor()

  await page.getByRole('textbox', { name: 'API key' }).fill(value)
  await page.getByLabel('User message').fill('Please count to 400')
  await fetch(`${service.upstream}/__fake/next`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'good', delayMs: 50 }),
  })
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByLabel('Response text').getByText('1 2 3').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Stopped. Tokens received so far are billed.').waitFor()
  const text = await page.getByLabel('Response text').textContent()
  assert.ok(!text.endsWith('400'), 'the response was stopped before its end')
})

journey('the audit log lists every action, without secrets', { as: 'owner' }, async (visit) => {
  const { page } = visit
  const project = await service.project({ name: 'Audited' })
  const base = `projects/${project.id}`
  const key = await service.key(project, { name: 'Watched key' })
  const { alerts } = await service.admin('PATCH', base, { budget: 42, alerts: { url: 'https://example.com/hook' } })
  const rotated = await service.admin('POST', `${base}/keys/${key.id}/rotate`, { graceSeconds: 0 })
  await service.admin('POST', `${base}/keys/${rotated.id}/deactivate`)
  await service.admin('POST', `${base}/keys/${rotated.id}/reactivate`)
  await service.admin('DELETE', `${base}/keys/${rotated.id}`)
  const secret = 'sk-their-own-fedcba9876543210'
  await service.admin('PUT', `${base}/provider-keys/openai`, { key: secret })
  await service.admin('DELETE', `${base}/provider-keys/openai`)
  await service.admin('POST', `${base}/archive`)
  await service.admin('POST', `${base}/restore`)

  await page.goto('/dashboard/audit')
  await page.getByLabel('Project').selectOption({ label: 'Audited' })
  await page.getByText('11 entries').waitFor()
  const { entries } = await service.get(`audit?project=${project.id}`)
  assert.deepEqual(
    entries.map(({ action }) => action).reverse(),
    [
      'project.create',
      'key.create',
      'project.update',
      'key.rotate',
      'key.deactivate',
      'key.reactivate',
      'key.delete',
    ].concat(['provider_key.set', 'provider_key.delete', 'project.archive', 'project.restore']),
  )
  const change = entries.find(({ action }) => action === 'project.update')
  assert.deepEqual([change.actor, change.before.budget, change.after.budget], ['owner', 5, 42])
  for (const [name, text] of [
    ['a key’s value', key.value],
    ['the rotated key’s value', rotated.value],
    ['the webhook’s secret', alerts.secret],
    ['the provider key', secret],
    ['the owner’s token', service.tokens.owner],
  ]) {
    await visit.checkAbsent(text, name)
  }
})
