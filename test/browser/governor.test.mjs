// The Governor's settings, including the box for trying a text; violations and their triage.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const at = (project, page) => `/dashboard/projects/${project.id}/${page}`
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()
const governed = (fields) => service.project({ plan: 'guarded', ...fields })
const settingsOf = (project) => service.get(`projects/${project.id}/governor`)
const MAIL = 'jane.doe@example.com'

async function openSettings(page, project) {
  await page.goto(at(project, 'governor'))
  await page.getByLabel('Enable the Governor').waitFor()
}

/** Tries a text in the box and returns the region with the result. */
async function tryText(page, text) {
  await page.getByLabel('Text', { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Check text' }).click()
  const result = page.getByRole('region', { name: 'Result' })
  await result.locator('pre').first().getByText(text.slice(0, 8)).waitFor()
  return result
}

journey('a text is tried against settings before they are saved, then they are', { as: 'owner' }, async ({ page }) => {
  const project = await governed({ name: 'Draft first' })
  await openSettings(page, project)
  let result = await tryText(page, `SSN 536-90-4399, mail ${MAIL} and a@example.org`)
  await result.getByText('20 + 5 + 5 = 30 ≤ 30').waitFor()
  assert.deepEqual(await result.locator('mark').evaluateAll((marks) => marks.map((m) => m.firstChild.textContent)), [
    '536-90-4399',
    MAIL,
    'a@example.org',
  ])
  await page.getByLabel('Strict mode').check()
  await page.getByLabel('Auto-approve threshold').fill('29')
  await result.getByText('changed after this check').waitFor()
  await page.getByRole('button', { name: 'Check text' }).click()
  await result.getByText('20 + 5 + 5 = 30 > 29').waitFor()
  await result.getByText('blocked by strict mode').waitFor()
  assert.equal((await settingsOf(project)).strictMode, false, 'trying saves nothing')

  await page.getByLabel('Search rules').fill('personal.email')
  await page.getByLabel('Input of personal.email').selectOption('redact')
  await page.getByLabel('Restore redacted values in responses').check()
  result = await tryText(page, `Write to ${MAIL}`)
  await result.getByText('Write to [EMAIL_1]').waitFor()
  await page.getByLabel('Enable the Governor').check()
  await page.getByRole('button', { name: 'Save settings' }).click()
  await notice(page, 'Governor settings saved')
  const saved = await settingsOf(project)
  assert.deepEqual(
    [saved.enabled, saved.strictMode, saved.autoApproveThreshold, saved.reversible, saved.rules],
    [true, true, 29, true, { 'personal.email': { input: 'redact', output: 'flag' } }],
  )
  assert.equal(await page.getByRole('button', { name: 'Save settings' }).getAttribute('aria-disabled'), 'true')

  const { value } = await service.key(project)
  const response = await service.complete(value, { messages: [{ role: 'user', content: `Write to ${MAIL}` }] })
  assert.equal(response.status, 200)
  assert.ok(!JSON.stringify((await service.seen()).at(-1)).includes(MAIL), 'the provider sees a placeholder')
})

journey('markup in a tried text stays text', { as: 'owner' }, async ({ page }) => {
  const project = await governed({ name: 'Markup' })
  await openSettings(page, project)
  const text = `<img src=x onerror="alert(1)"> <b>${MAIL}</b> 😀`
  const result = await tryText(page, text)
  await result.locator('mark').waitFor()
  assert.equal(await result.locator('img, b').count(), 0)
  const shown = await result
    .locator('pre')
    .first()
    .evaluate((pre) => {
      for (const hidden of pre.querySelectorAll('.visually-hidden')) hidden.remove()
      return pre.textContent
    })
  assert.equal(shown, text)
})

journey(
  'lists, patterns, a schema and a classifier are saved, and mistakes named',
  { as: 'owner' },
  async ({ page }) => {
    const project = await governed({ name: 'All parts' })
    await openSettings(page, project)
    await page.getByRole('button', { name: 'Add keyword list' }).click()
    const list = page.getByRole('group', { name: 'New keyword list' })
    await list.getByLabel('Name').fill('codenames')
    await page
      .getByRole('group', { name: 'codenames' })
      .getByLabel('Words, one per line')
      .fill('Blue Heron\n\n Red Fox ')
    await page.getByRole('button', { name: 'Add pattern' }).click()
    await page.getByRole('group', { name: 'New pattern' }).getByLabel('Name').fill('employee-id')
    const pattern = page.getByRole('group', { name: 'employee-id' })
    await pattern.getByLabel('Pattern', { exact: true }).fill('EMP-(')
    await page.getByLabel('JSON Schema of answers').fill('{"type":')
    await page.getByText('This is not valid JSON.').waitFor()
    await page.getByLabel('JSON Schema of answers').fill('{"type":"object"}')
    await page.getByLabel('Maximum input').fill('5,000')
    await page.getByRole('region', { name: 'Classifier' }).getByLabel('Kind').selectOption('moderation')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await pattern.locator('.field-error').waitFor()
    assert.equal((await settingsOf(project)).version, 1, 'nothing was saved')
    await pattern.getByLabel('Pattern', { exact: true }).fill('EMP-[0-9]{6}')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await notice(page, 'Governor settings saved')
    const saved = await settingsOf(project)
    assert.deepEqual(saved.keywords[0].words, ['Blue Heron', 'Red Fox'])
    assert.equal(saved.patterns[0].pattern, 'EMP-[0-9]{6}')
    assert.deepEqual(saved.answerSchema.schema, { type: 'object' })
    assert.equal(saved.maxInputCharacters, 5000)
    assert.equal(saved.classifier.kind, 'moderation')

    await page.getByRole('button', { name: 'Remove keyword list codenames' }).click()
    await notice(page, 'codenames removed')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await until('the list is gone', async () => (await settingsOf(project)).keywords.length === 0)
  },
)

/** Adds an exemption and fills it in. Returns its group. */
async function addExemption(page, { kind = 'value', text, rule = '' }) {
  await page.getByRole('button', { name: 'Add exemption' }).click()
  const added = page.getByRole('group', { name: 'New exemption' })
  await added.getByLabel('Exempt', { exact: true }).selectOption(kind)
  await added.getByLabel('Only for the rule').fill(rule)
  await added.getByLabel(kind === 'value' ? 'Value' : 'Pattern', { exact: true }).fill(text)
  return page.getByRole('group', { name: text, exact: true })
}

const save = async (page) => {
  // The notice of an earlier save may still be visible.
  await Promise.all([
    page.waitForResponse((response) => response.request().method() === 'PUT'),
    page.getByRole('button', { name: 'Save settings' }).click(),
  ])
  await page.locator('button[aria-disabled=true][aria-busy=false]:text("Save settings")').waitFor()
  await notice(page, 'Governor settings saved')
}

journey('exempted texts and actions of system texts apply to requests', { as: 'owner' }, async ({ page }) => {
  const project = await governed({ name: 'Exempting' })
  const { value } = await service.key(project)
  const ask = (role, content) =>
    service.complete(value, {
      messages: [{ role, content }, ...(role === 'user' ? [] : [{ role: 'user', content: 'Hi' }])],
    })
  const statuses = async (...asked) => {
    const all = []
    for (const [role, content] of asked) all.push((await ask(role, content)).status)
    return all.join(' ')
  }
  const cases = [
    ['user', `Write to ${MAIL}`],
    ['user', 'Write to Team@Example.com'],
    ['user', 'Write to ann@corp.example'],
    ['user', 'Write to ann.x@corp.example'],
    ['system', `Write to ${MAIL}`],
  ]
  await openSettings(page, project)
  await page.getByLabel('Enable the Governor').check()
  await page.getByLabel('Search rules').fill('personal.email')
  await page.getByLabel('Input of personal.email').selectOption('block')
  assert.equal(
    await page.getByLabel('System of personal.email').locator('option:checked').textContent(),
    'Category: block',
  )
  await save(page)
  assert.equal(await statuses(...cases), '422 422 422 422 422')

  await addExemption(page, { text: ' team@example.com ', rule: 'personal.email' })
  await addExemption(page, { kind: 'pattern', text: String.raw`[a-z]+@corp\.example` })
  await page.getByLabel('System of personal.email').selectOption('allow')
  await page.getByText('Unsaved changes').waitFor()
  assert.equal(await statuses(...cases), '422 422 422 422 422', 'nothing is saved yet')
  // The box applies the unsaved settings, which depend on the direction.
  for (const [direction, decision] of [
    ['input', 'block'],
    ['system', 'approve'],
  ]) {
    await page.getByLabel('Direction').selectOption(direction)
    const result = await tryText(page, `Write to ${MAIL}`)
    await result.getByRole('heading', { name: `Result: ${decision}` }).waitFor()
  }
  await save(page)
  assert.deepEqual((await settingsOf(project)).exemptions, [
    { rule: 'personal.email', value: 'team@example.com' },
    { rule: null, pattern: String.raw`[a-z]+@corp\.example` },
  ])
  assert.equal(await statuses(...cases), '422 200 200 422 200')

  // After removing an exemption with the keyboard, the focus stays in the list.
  await page.getByRole('button', { name: 'Remove exemption team@example.com' }).press('Enter')
  await notice(page, 'team@example.com removed')
  const exemptions = page.getByRole('group', { name: 'exemptions', exact: true })
  await until('the focus', () => exemptions.evaluate((element) => element === document.activeElement))
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'SELECT', 'the next entry is reached')
  await page.getByRole('button', { name: /^Remove exemption/ }).press('Enter')
  await page.getByLabel('System of personal.email').selectOption('')
  await page.getByRole('button', { name: 'Save settings' }).press('Enter')
  await notice(page, 'Governor settings saved')
  assert.equal(await statuses(...cases), '422 422 422 422 422')
})

journey('mistakes in exemptions are named at their fields', { as: 'owner' }, async ({ page }) => {
  const project = await governed({ name: 'Mistaken' })
  await openSettings(page, project)
  const markup = '<img src=x onerror="alert(1)">'
  for (const [entry, message] of [
    [{ kind: 'pattern', text: '(a+' }, /regular expression/],
    [{ kind: 'pattern', text: '.*' }, /must not match the empty text/],
    [{ kind: 'pattern', text: '(?=a)b' }, /must not use/],
    [{ text: 'é'.repeat(200) }, /must have 1 to 320 bytes .* got 400 bytes/],
    [{ text: markup, rule: 'personal.nobody' }, /must be a rule or category/],
    [{ text: 'a', rule: 'length.input' }, /must be a rule or category/],
  ]) {
    const group = await addExemption(page, entry)
    await page.getByRole('button', { name: 'Save settings' }).click()
    const error = group.locator('.field-error')
    await error.waitFor()
    assert.match(await error.textContent(), message)
    assert.equal(await group.locator('img').count(), 0)
    await until('the focus', () => group.locator('[aria-invalid=true]').evaluate((e) => e === document.activeElement))
    await group.getByRole('button', { name: 'Remove' }).click()
    await group.waitFor({ state: 'detached' })
  }
  await page.getByRole('button', { name: 'Add exemption' }).click()
  await page.getByRole('button', { name: 'Save settings' }).click()
  await page.getByRole('group', { name: 'New exemption' }).locator('.field-error').getByText('got 0 bytes').waitFor()
  assert.equal((await settingsOf(project)).version, 1, 'nothing was saved')
  await page.getByRole('group', { name: 'New exemption' }).getByLabel('Value').fill(markup)
  await save(page)
  assert.equal((await settingsOf(project)).exemptions[0].value, markup)
})

journey('at most 100 exemptions, and the agents’ addresses', { as: 'owner' }, async ({ page }) => {
  const project = await governed({ name: 'Full' })
  const exemptions = Array.from({ length: 99 }, (_, i) => ({ value: `mail-${i}@example.com` }))
  await service.admin('PUT', `projects/${project.id}/governor`, { exemptions })
  await openSettings(page, project)
  await addExemption(page, { text: 'mail-0@example.com' }) // a duplicate counts as another exemption, but has no other effect
  assert.equal(await page.getByRole('button', { name: 'Add exemption' }).isDisabled(), true)
  await page.getByLabel('Exempt addresses that coding agents').uncheck()
  await save(page)
  const saved = await settingsOf(project)
  assert.deepEqual([saved.exemptions.length, saved.exemptAgentAddresses], [100, false])
  const result = await tryText(page, 'Co-Authored-By: Claude <noreply@anthropic.com>')
  await result.locator('mark').getByText('noreply@anthropic.com').waitFor()
})

journey('two tabs change the Governor: the second keeps its edits', { as: 'owner' }, async (visit) => {
  const project = await governed({ name: 'Two tabs' })
  const [first, second] = [visit.page, await visit.open()]
  for (const page of [first, second]) await openSettings(page, project)
  await first.getByLabel('Auto-approve threshold').fill('50')
  await first.getByRole('button', { name: 'Save settings' }).click()
  await notice(first, 'Governor settings saved')
  await second.getByLabel('Strict mode').check()
  await second.getByRole('button', { name: 'Save settings' }).click()
  await second.getByText('Someone else saved changes while you were editing').waitFor()
  await second.getByRole('button', { name: 'Reload and keep my edits' }).click()
  await until('theirs', async () => (await second.getByLabel('Auto-approve threshold').inputValue()) === '50')
  await second.getByRole('button', { name: 'Save settings' }).click()
  await notice(second, 'Governor settings saved')
  const saved = await settingsOf(project)
  assert.deepEqual([saved.strictMode, saved.autoApproveThreshold], [true, 50])
})

journey('a plan without the Governor says so and links to the plan', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Unguarded' })
  await openSettings(page, project)
  await page.getByText('does not include the Governor').first().waitFor()
  await page.getByLabel('Enable the Governor').check()
  await page.getByRole('button', { name: 'Save settings' }).click()
  await page.getByText('The Governor is not available on this plan').waitFor()
  await page.getByRole('link', { name: 'Change the plan in Settings' }).click()
  await page.getByRole('button', { name: 'Leave without saving' }).click()
  await page.getByLabel('Plan', { exact: true }).selectOption('guarded')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await notice(page, 'Settings saved')
  await page.getByRole('link', { name: 'Governor', exact: true }).click()
  await page.getByLabel('Enable the Governor').check()
  await page.getByRole('button', { name: 'Save settings' }).click()
  await notice(page, 'Governor settings saved')
  // The plan cannot be changed to one without the Governor while the Governor is enabled.
  await page.getByRole('link', { name: 'Settings', exact: true }).click()
  await page.getByLabel('Plan', { exact: true }).selectOption('small')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await page.getByText('does not include the Governor, which this project has enabled').first().waitFor()
})

journey('a viewer reads the Governor and cannot change it', { as: 'viewer' }, async ({ page }) => {
  const project = await governed({ name: 'Watched' })
  await openSettings(page, project)
  await page.getByText('You are signed in as a viewer').waitFor() // until then, nobody can make changes
  assert.equal(await page.getByLabel('Strict mode').isDisabled(), true)
  for (const name of ['Save settings', 'Check text', 'Add keyword list']) {
    assert.equal(await page.getByRole('button', { name }).isDisabled(), true, name)
  }
})

/** A project with one violation of personal.payment-card in review. */
async function withViolation(name) {
  const project = await governed({ name })
  await service.admin('PUT', `projects/${project.id}/governor`, { enabled: true })
  const key = await service.key(project, { name: 'Checkout' })
  const content = 'Charge 4111 1111 1111 1111'
  assert.equal((await service.complete(key.value, { messages: [{ role: 'user', content }] })).status, 200)
  const list = () => service.get(`projects/${project.id}/violations`)
  await until('the violation is listed', async () => (await list()).violations.length === 1)
  return { project, key, violation: (await list()).violations[0] }
}

journey('a violation is found, triaged with a note, and reopened', { as: 'owner' }, async (visit) => {
  const { page } = visit
  const { project, key, violation } = await withViolation('Triaged')
  await page.goto(at(project, 'violations'))
  const row = page.getByRole('row', { name: /personal\.payment-card/ })
  await row.waitFor()
  for (const text of ['high', 'review', 'Checkout', 'Open']) await row.getByText(text).first().waitFor()
  await page.getByLabel('State').selectOption('resolved')
  await page.getByText('No violations match').waitFor()
  await page.getByLabel('State').selectOption('open')
  await page.getByLabel('Severity').selectOption('high')
  await page.getByLabel('API key').selectOption(key.id)
  await page.getByLabel('From (UTC)').fill('2020-01-01')
  await row.getByRole('link').first().click()

  await page.getByRole('heading', { name: 'Violation', level: 1 }).waitFor()
  await page.getByText(violation.requestId).waitFor()
  await page.getByLabel('Note').fill('A test card')
  await page.getByRole('button', { name: 'Mark as false positive' }).click()
  await notice(page, 'Violation: false positive')
  const now = () => service.get(`projects/${project.id}/violations/${violation.id}`)
  assert.deepEqual([(await now()).state, (await now()).note], ['false_positive', 'A test card'])
  await page.getByText('Open → False positive').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Acknowledge' }).count(), 0)

  await page.getByRole('button', { name: 'Reopen' }).click()
  await page.getByRole('button', { name: 'Acknowledge' }).click()
  await notice(page, 'Violation: acknowledged')
  await page.getByRole('button', { name: 'Resolve' }).click()
  await notice(page, 'Violation: resolved')
  assert.equal((await now()).state, 'resolved')
  await visit.checkAbsent('4111 1111 1111 1111', 'the card number')
})

journey('a concurrent triage is shown instead of overwritten', { as: 'owner' }, async ({ page }) => {
  const { project, violation } = await withViolation('Raced')
  await page.goto(at(project, `violations/${violation.id}`))
  await page.getByRole('button', { name: 'Acknowledge' }).waitFor()
  await service.admin('PATCH', `projects/${project.id}/violations/${violation.id}`, { state: 'resolved' })
  await page.getByRole('button', { name: 'Acknowledge' }).click()
  await page.getByText('Conflict with the current state').waitFor()
  await page.getByRole('button', { name: 'Reopen' }).waitFor()
})

journey('a viewer cannot triage', { as: 'viewer' }, async ({ page }) => {
  const { project, violation } = await withViolation('Only read')
  await page.goto(at(project, `violations/${violation.id}`))
  await page.getByRole('button', { name: 'Acknowledge' }).waitFor()
  await page.getByText('You are signed in as a viewer').waitFor()
  for (const name of ['Acknowledge', 'Resolve', 'Mark as false positive', 'Save note']) {
    assert.equal(await page.getByRole('button', { name }).isDisabled(), true, name)
  }
})

journey(
  'a project without violations explains them, and failures can be retried',
  { as: 'owner' },
  async ({ page }) => {
    const project = await governed({ name: 'Quiet' })
    await page.route('**/api/admin/**/violations', (route) =>
      route.fulfill({ status: 429, json: { error: 'Slow down', code: 'slow' } }),
    )
    await page.goto(at(project, 'violations'))
    await page.getByText('Could not load violations').waitFor()
    await page.unroute('**/api/admin/**/violations')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No violations yet').waitFor()
    await page.goto(at(project, 'violations/vio_doesnotexist'))
    await page.getByText('Could not load the violation').waitFor()
  },
)
