// Groups: the tree, a group's page, the group of a project, and who may change them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { NARROW, startBrowser } from './browser.mjs'
import { NICKEL, startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

const DAY_MS = 86_400_000
const notice = (page, text) => page.locator('.notices').getByText(text).waitFor()
const pathOf = ({ id }) => `/dashboard/groups/${id}`
const row = (page, name) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
const group = (fields) => service.admin('POST', 'groups', fields)
const current = ({ id }) => service.get(`groups/${id}`)
const settings = (page) => page.getByRole('region', { name: 'Settings' })

/** A department with a team, which has a project with a key. */
async function department(name) {
  const above = await group({ name, budget: 10 })
  const team = await group({ name: `${name}, team`, parent: above.id, budget: 4, budgetPeriod: 'day' })
  const project = await service.project({ name: `${name}, project`, group: team.id })
  return { above, team, project, key: await service.key(project) }
}

/** Sends a number of requests, and waits until a group's Ledger has their cost. */
async function spend({ value }, requests, above) {
  for (let i = 0; i < requests; i++) {
    const messages = [{ role: 'user', content: `Question ${i}` }]
    assert.equal((await service.complete(value, { quality: 'cheap', messages })).status, 200)
  }
  const cost = requests * NICKEL - 1e-9
  await until('the spend is reported', async () => (await current(above)).spent?.amount >= cost)
}

/** The texts of the cells of a row. */
const cells = (page, name) => row(page, name).getByRole('cell').allTextContents()

/** Presses a button, and then the button of the same name in the dialog that it opens. */
async function confirm(page, action) {
  await page.getByRole('button', { name: action }).click()
  await page.getByRole('dialog').getByRole('button', { name: action }).click()
}

journey(
  'an owner creates a department and a team in it, and moves a project there',
  { as: 'owner' },
  async ({ page }) => {
    const project = await service.project({ name: 'Search assistant' })
    await page.goto('/dashboard')
    await page.getByRole('navigation').getByRole('link', { name: 'Groups' }).click()
    await page.getByRole('link', { name: 'New group' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Research')
    await page.getByLabel('Budget (USD)').fill('$1,000')
    await page.getByRole('button', { name: 'Create group' }).click()
    await notice(page, 'Group Research created')
    await page.getByRole('heading', { level: 1, name: 'Research' }).waitFor()

    await page.getByRole('link', { name: 'New group' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Vision')
    await page.getByLabel('Budget period').selectOption('week')
    await page.getByLabel('Enforcement').selectOption('soft')
    const chosen = page.getByLabel('In', { exact: true }).locator('option:checked')
    await until('the parent is Research', async () => (await chosen.textContent()) === 'Research')
    await page.getByRole('button', { name: 'Create group' }).click()
    await notice(page, 'Group Vision created')
    const vision = await current({ id: new URL(page.url()).pathname.split('/').at(-1) })
    const research = await current({ id: vision.parent })
    assert.deepEqual([research.name, research.budget, research.budgetPeriod], ['Research', 1000, 'month'])
    assert.deepEqual([vision.budget, vision.budgetPeriod, vision.enforce], [null, 'week', 'soft'])

    await page.goto(`/dashboard/projects/${project.id}/settings`)
    await page.getByLabel('Group').selectOption({ label: 'Research / Vision' })
    await page.getByRole('button', { name: 'Save settings' }).click()
    await notice(page, 'Settings saved')
    assert.equal((await service.get(`projects/${project.id}`)).group, vision.id)
    await page.goto('/dashboard/groups')
    assert.match(await row(page, 'Search assistant').getByRole('rowheader').textContent(), /project in Vision/)
    assert.match(await row(page, 'Vision').getByRole('rowheader').textContent(), /group in Research, with 1 project/)
  },
)

journey('a new project begins in the group from whose page it is created', { as: 'owner' }, async ({ page }) => {
  const { team } = await department('Growing')
  await page.goto(pathOf(team))
  await page.getByRole('link', { name: 'New project' }).click()
  await page
    .getByLabel('Group')
    .locator('option:checked', { hasText: 'Growing / Growing, team' })
    .waitFor({ state: 'attached' })
  await page.getByLabel('Name', { exact: true }).fill('Newcomer')
  await page.getByRole('button', { name: 'Create project' }).click()
  await notice(page, 'Project Newcomer created')
  const { projects } = await service.get('projects?q=Newcomer')
  assert.equal(projects[0].group, team.id)
})

journey('each level shows its spend, the used share, the reset and the age', { as: 'owner' }, async ({ page }) => {
  const { above, team, key } = await department('Busy')
  await spend(key, 3, above)
  await page.goto('/dashboard/groups')
  await row(page, 'Busy, team').getByText('3.8%').waitFor()
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)
  assert.deepEqual((await cells(page, 'Busy, team')).slice(0, 5), ['$4.00per day', '$0.15', '3.8%', tomorrow, 'hard'])
  assert.deepEqual((await cells(page, 'Busy')).slice(0, 3), ['$10.00per month', '$0.15', '1.5%'])
  await row(page, 'Busy, team')
    .getByText(/^\d+ s ago$/)
    .waitFor()
  await until('the project has reported', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click()
    return (await cells(page, 'Busy, project'))[1] === '$0.15'
  })

  await row(page, 'Busy, team').getByRole('link').click()
  await page.getByText(`3.8% used. Resets on ${tomorrow} (UTC).`).waitFor()
  await page.getByText('$3.85 remaining').waitFor()
  await page.getByText(/Figures \d+ s ago, at most five minutes behind the requests/).waitFor()
  await page.getByRole('region', { name: 'Contents' }).getByRole('link', { name: 'Busy, project' }).click()
  await page.getByRole('link', { name: 'View its group' }).click()
  await page.waitForURL(`**${pathOf(team)}`)
})

/** The text of a downloaded file. */
async function file(page, usage, name) {
  const download = page.waitForEvent('download')
  await usage.getByRole('link', { name, exact: true }).click()
  return readFileSync(await (await download).path(), 'utf8')
}

journey('the usage of a group by each grouping, and as a file', { as: 'owner' }, async ({ page }) => {
  const { above, key } = await department('Billed')
  await spend(key, 1, above)
  await page.goto(pathOf(above))
  const usage = page.getByRole('region', { name: 'Usage' })
  const by = usage.getByRole('group', { name: 'Group by' })
  for (const [label, name] of [
    ['Group', 'Billed, team'],
    ['Project', 'Billed, project'],
    ['API key', 'Backend'],
    ['Model', 'nickel'],
  ]) {
    await by.getByRole('button', { name: label }).click()
    await until(`by ${label}`, async () => {
      await usage.getByRole('button', { name: 'Collect the latest' }).click()
      const cells = await usage.getByRole('row').filter({ hasText: name }).getByRole('cell').allTextContents()
      return cells.slice(-4, -2).join() === '1,$0.05'
    })
  }
  await usage.getByText(/Complete up to \d+ s ago/).waitFor()
  await by.getByRole('button', { name: 'Project' }).click()
  const lines = (await file(page, usage, 'This table, CSV')).split('\r\n')
  assert.match(lines[0], /^projectId,projectName,requests,/)
  assert.match(lines[1], /,"?Billed, project"?,1,/)
  assert.match(await file(page, usage, 'By day, CSV'), /^day,requests,/)
})

journey('two tabs edit a group: the second gets a conflict and keeps its edits', { as: 'owner' }, async (visit) => {
  const above = await group({ name: 'Shared', budget: 5 })
  const [first, second] = [visit.page, await visit.open()]
  for (const page of [first, second]) {
    await page.goto(pathOf(above))
    await settings(page).getByLabel('Budget (USD)').waitFor()
  }
  await settings(first).getByLabel('Budget (USD)').fill('7')
  await first.getByRole('button', { name: 'Save settings' }).click()
  await notice(first, 'Group saved')
  await settings(second).getByLabel('Name').fill('Shared by two')
  await second.getByRole('button', { name: 'Save settings' }).click()
  await second.getByText('Someone else saved changes while you were editing').waitFor()
  await second.getByRole('button', { name: 'Reload and keep my edits' }).click()
  const budget = settings(second).getByLabel('Budget (USD)')
  await until('the first tab’s budget is in the form', async () => (await budget.inputValue()) === '7')
  await second.getByRole('button', { name: 'Save settings' }).click()
  await notice(second, 'Group saved')
  const { name, budget: saved } = await current(above)
  assert.deepEqual([name, saved], ['Shared by two', 7])
})

journey('an invalid budget is shown at its field, and nothing is saved', { as: 'owner' }, async ({ page }) => {
  const above = await group({ name: 'Careful', budget: 5 })
  await page.goto(pathOf(above))
  const field = settings(page).getByLabel('Budget (USD)')
  await field.fill('2,50')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await until('the field is marked', async () => (await field.getAttribute('aria-invalid')) === 'true')
  assert.equal((await current(above)).budget, 5)
})

journey('the limits and models of a group are saved', { as: 'owner' }, async ({ page }) => {
  const above = await group({ name: 'Narrow' })
  await page.goto(pathOf(above))
  await settings(page).getByLabel('Requests per period').fill('1,000')
  await settings(page).getByLabel('Allowed models').fill('nickel')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await notice(page, 'Group saved')
  await page.reload()
  await until(
    'the limit is in the form',
    async () => (await settings(page).getByLabel('Requests per period').inputValue()) === '1000',
  )
  await settings(page).getByRole('list', { name: 'Allowed models' }).getByText('nickel', { exact: true }).waitFor()
  assert.equal(await settings(page).getByLabel('Tokens per period').inputValue(), '')
})

journey('used requests and tokens of a group’s limits are shown', { as: 'owner' }, async ({ page }) => {
  const { above, key } = await department('Counted')
  await service.admin('PATCH', `groups/${above.id}`, { limits: { requestsPerPeriod: 100, tokensPerPeriod: 6000 } })
  await spend(key, 2, above)
  await page.goto(pathOf(above))
  const limits = page.getByRole('region', { name: 'Limits' })
  await until('the requests are counted', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click()
    return /2 of 100 used this month \(2%\).*300 of 6,000 used this month \(5%\)/.test(await limits.textContent())
  })
})

journey('the page of a refused request names the group and its reset', { as: 'owner' }, async ({ page }) => {
  const { team, project, key } = await department('Drained')
  await service.admin('PATCH', `groups/${team.id}`, { budget: 0.01 })
  const { status, headers } = await service.complete(key.value, { quality: 'cheap' })
  assert.equal(status, 402)
  const id = headers.get('x-request-id')
  const at = `projects/${project.id}/requests?request=${id}`
  await until('the refusal is recorded', async () => (await service.get(at)).requests.length === 1)
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)
  await page.goto(`/dashboard/projects/${project.id}/requests?open=${id}`)
  const drawer = page.getByRole('dialog', { name: 'Request' })
  await drawer.getByText('Over the budget').first().waitFor()
  await drawer.getByText(new RegExp(`group Drained, team .*resets at ${tomorrow}`)).waitFor()
})

journey('a top-up whose response was lost counts once', { as: 'owner' }, async (visit) => {
  const { page } = visit
  visit.expected.push(/net::ERR_FAILED/)
  const above = await group({ name: 'Interrupted', budgetPeriod: 'total' })
  await page.goto(pathOf(above))
  await page.route('**/credits', (route) => route.fetch().then(() => route.abort()), { times: 1 })
  await page.getByLabel('Amount to add (USD)').fill('20')
  await page.getByRole('button', { name: 'Add credit' }).click()
  await page.getByText('Could not reach the server').first().waitFor()
  await page.getByRole('button', { name: 'Add credit' }).click()
  await page.getByText('Top-up 1: $20.00 added. The credit is now $20.00.').waitFor()
  assert.equal((await current(above)).budget, 20)
})

journey('a key gets its own budget and limits', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Shared by keys' })
  const key = await service.key(project)
  const path = `projects/${project.id}/keys/${key.id}`
  await page.goto(`/dashboard/${path}`)
  await page.getByText('Models, permissions, limits, budget, expiry').click()
  await page.getByLabel('Budget (USD)').fill('1.5')
  await page.getByLabel('Budget period').selectOption('day')
  await page.getByLabel('Requests per period').fill('1')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await notice(page, `Key ${key.name} saved`)
  const saved = await service.get(path)
  assert.deepEqual([saved.budget, saved.budgetPeriod, saved.limits.requestsPerPeriod], [1.5, 'day', 1])
  assert.equal((await service.complete(key.value, { quality: 'cheap' })).status, 200)
  const second = { quality: 'cheap', messages: [{ role: 'user', content: 'Again' }] }
  assert.equal((await service.complete(key.value, second)).body.budget.unit, 'requests')
})

journey('the budgets of a project and of its key become soft', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Only counted', budget: 0 })
  const key = await service.key(project, { budget: 0 })
  const refusedBy = async () => (await service.complete(key.value, { quality: 'cheap' })).body.budget?.level
  assert.equal(await refusedBy(), 'key')
  await page.goto(`/dashboard/projects/${project.id}/keys/${key.id}`)
  await page.getByText('Models, permissions, limits, budget, expiry').click()
  await page.getByLabel('Enforcement').selectOption('soft')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await notice(page, `Key ${key.name} saved`)
  assert.equal(await refusedBy(), 'project')
  await page.goto(`/dashboard/projects/${project.id}/settings`)
  await page.getByLabel('Enforcement').selectOption('soft')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await notice(page, 'Settings saved')
  assert.equal((await service.complete(key.value, { quality: 'cheap' })).status, 200)
})

journey('a project gets prepaid credit', { as: 'owner' }, async ({ page }) => {
  const project = await service.project({ name: 'Paid ahead', budgetPeriod: 'total', budget: 0 })
  const { value } = await service.key(project)
  assert.equal((await service.complete(value, { quality: 'cheap' })).status, 402)
  await page.goto(`/dashboard/projects/${project.id}/settings`)
  await page.getByLabel('Amount to add (USD)').fill('2')
  await page.getByLabel('Note').fill('Invoice 1042')
  await page.getByRole('button', { name: 'Add credit' }).click()
  await page.getByText('Top-up 1: $2.00 added. The credit is now $2.00.').waitFor()
  assert.equal((await service.complete(value, { quality: 'cheap' })).status, 200)
  await page.goto(`/dashboard/projects/${project.id}`)
  await page.getByText('Does not reset.').waitFor()
  await page.goto('/dashboard/audit')
  await page.getByText('Invoice 1042').waitFor()
})

journey('prepaid credit is added in numbered top-ups', { as: 'owner' }, async ({ page }) => {
  const above = await group({ name: 'Prepaid' })
  await page.goto(pathOf(above))
  await settings(page).getByLabel('Budget period').selectOption('total')
  await page.getByRole('button', { name: 'Save settings' }).click()
  const credit = page.getByRole('region', { name: 'Credit' })
  for (const [number, total] of [
    [1, '$20.00'],
    [2, '$40.00'],
  ]) {
    await credit.getByLabel('Amount to add (USD)').fill('20')
    await credit.getByRole('button', { name: 'Add credit' }).click()
    await credit.getByText(`Top-up ${number}: $20.00 added. The credit is now ${total}.`).waitFor()
  }
  await credit.getByText('prepaid credit of $40.00').waitFor()
})

journey('a group is archived and restored', { as: 'owner' }, async ({ page }) => {
  const { above } = await department('Seasonal')
  await page.goto(pathOf(above))
  await confirm(page, 'Archive group')
  await page.getByText('This group is archived').first().waitFor()
  await page.goto('/dashboard/groups')
  await page.getByText(/^\d+ groups? and \d+ projects? shown$/).waitFor()
  assert.equal(await row(page, 'Seasonal').count(), 0)
  await page.getByLabel('Show archived').check()
  await row(page, 'Seasonal').getByText('archived').waitFor()
  await row(page, 'Seasonal').getByRole('link').click()
  await confirm(page, 'Restore group')
  await notice(page, 'Group restored')
})

journey('only an empty group can be deleted', { as: 'owner' }, async ({ page }) => {
  const { above, team, project } = await department('Leaving')
  await page.goto(pathOf(team))
  await page.getByText('This one has 0 groups and 1 project').waitFor()
  const button = page.getByRole('button', { name: 'Delete group' })
  assert.equal(await button.getAttribute('aria-disabled'), 'true')
  await service.admin('PATCH', `projects/${project.id}`, { group: null })
  await page.reload()
  await page.getByText('The group is empty').waitFor()

  await service.admin('PATCH', `projects/${project.id}`, { group: team.id }) // the page does not know it yet
  await button.click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete group' }).click()
  await page.getByRole('dialog').getByText('must be empty, but has 1 project').waitFor()
  await service.admin('PATCH', `projects/${project.id}`, { group: null })
  await page.getByRole('dialog').getByRole('button', { name: 'Delete group' }).click()
  await notice(page, 'Group Leaving, team deleted')
  await page.waitForURL('**/dashboard/groups')
  await row(page, 'Leaving').waitFor()
  assert.equal(await row(page, 'Leaving, team').count(), 0)
  assert.equal((await service.call('GET', `groups/${team.id}`)).status, 404)
  assert.equal((await current(above)).name, 'Leaving')
})

journey('a viewer sees a group and cannot change it', { as: 'viewer' }, async ({ page }) => {
  const { above } = await department('Watched')
  await page.goto(pathOf(above))
  await page.getByText('$10.00 remaining').waitFor()
  await row(page, 'Watched, project').waitFor()
  await page.getByText('You are signed in as a viewer').waitFor() // until then, nobody can make changes
  for (const action of ['Save settings', 'Save webhook', 'Archive group', 'Delete group', 'New group', 'New project']) {
    assert.equal(await page.getByRole('button', { name: action }).isDisabled(), true, action)
  }
  assert.equal(await settings(page).getByLabel('Budget (USD)').isDisabled(), true)
})

journey('by keyboard only: a group is closed, opened and visited', { as: 'owner' }, async ({ page }) => {
  const { team } = await department('Keyed')
  await page.goto('/dashboard/groups')
  const toggle = page.getByRole('button', { name: 'Contents of Keyed', exact: true })
  await row(page, 'Keyed, team').waitFor()
  await toggle.focus()
  await page.keyboard.press('Enter')
  await row(page, 'Keyed, team').waitFor({ state: 'detached' })
  assert.equal(await toggle.getAttribute('aria-expanded'), 'false')
  assert.equal(await toggle.evaluate((button) => button === document.activeElement), true)
  await page.keyboard.press('Space')
  await row(page, 'Keyed, team').waitFor()
  await page.keyboard.press('Tab') // the link of the same row
  await page.keyboard.press('Tab') // the button of the next row
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**${pathOf(team)}`)
  await until('the heading has the focus', () => page.evaluate(() => document.activeElement.tagName === 'H1'))
})

journey('the filter shows the matches and the groups above them', { as: 'owner' }, async ({ page }) => {
  await department('Sifted')
  await department('Hidden')
  await page.goto('/dashboard/groups')
  await row(page, 'Hidden').waitFor()
  await page.getByLabel('Filter by name').fill('sifted, pro')
  await row(page, 'Hidden').waitFor({ state: 'detached' })
  for (const name of ['Deployment', 'Sifted', 'Sifted, team', 'Sifted, project']) await row(page, name).waitFor()
  await page.getByLabel('Filter by name').fill('nobody')
  await page.getByText('No groups or projects match').waitFor()
})

journey('on a phone, every row says where it belongs', { as: 'owner', viewport: NARROW }, async ({ page }) => {
  const { team } = await department('Pocket')
  await page.goto('/dashboard/groups')
  await row(page, 'Pocket, team').getByText('group in Pocket, with 1 project').waitFor()
  const { width } = NARROW
  for (const path of ['/dashboard/groups', pathOf(team)]) {
    await page.goto(path)
    await row(page, 'Pocket, team').waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width)
  }
})

journey('the palette finds groups by name and by ID', { as: 'owner' }, async ({ page }) => {
  const { team } = await department('Sought')
  for (const typed of ['sought, team', team.id]) {
    await page.goto('/dashboard')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('combobox', { name: 'Find' }).fill(typed)
    await page.getByRole('option', { name: 'Sought / Sought, team' }).click()
    await page.waitForURL(`**${pathOf(team)}`)
  }
  await until('the page has the focus, and cannot close the palette any more', () =>
    page.evaluate(() => document.activeElement.tagName === 'H1'),
  )
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('combobox', { name: 'Find' }).fill('new group')
  await page.getByRole('option', { name: 'New group' }).click()
  await page.getByRole('heading', { level: 1, name: 'New group' }).waitFor()
})

journey('a budget of the deployment is set on the page of its root', { as: 'owner' }, async ({ page }) => {
  await page.goto('/dashboard/groups')
  await row(page, 'Deployment').getByRole('link').click()
  await page.getByText('No budget').first().waitFor()
  await settings(page).getByLabel('Budget (USD)').fill('500')
  await page.getByRole('button', { name: 'Save settings' }).click()
  await notice(page, 'Group saved')
  await page.getByText(/of \$500\.00/).waitFor()
  await settings(page).getByLabel('Hide the names of groups in refusals').check()
  await page.getByRole('button', { name: 'Save settings' }).click()
  await until('the names are hidden', async () => (await current({ id: 'root' })).hideNames)
  assert.equal((await current({ id: 'root' })).budget, 500)
  assert.equal(await page.getByRole('button', { name: /Archive|Delete/ }).count(), 0)
})

journey('a page of a group that does not exist says so', { as: 'owner' }, async ({ page }) => {
  await page.goto('/dashboard/groups/grp_0123456789abcdef0123456789abcdef')
  await page.getByText('Could not load the group').waitFor()
  await page.getByRole('link', { name: 'View all groups' }).click()
  await page.getByRole('heading', { level: 1, name: 'Groups' }).waitFor()
})

journey(
  'a large tree shows its first level at first, and loads only what it shows',
  { as: 'owner' },
  async ({ page }) => {
    const above = await group({ name: 'Crowded' })
    for (let i = 0; i < 100; i++) await group({ name: `Team ${i} of many`, parent: above.id })
    const loaded = []
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname))
    await page.goto('/dashboard/groups')
    const toggle = page.getByRole('button', { name: 'Contents of Crowded' })
    await toggle.waitFor()
    await page.getByText(/^\d+ groups and \d+ projects? shown$/).waitFor()
    assert.equal(await toggle.getAttribute('aria-expanded'), 'false')
    assert.equal(await row(page, 'Team 7 of many').count(), 0)
    await toggle.click()
    await row(page, 'Team 7 of many').waitFor()
    await page.getByText(/^100 of \d+ rows shown$/).waitFor()
    await page.getByText('…', { exact: true }).first().waitFor({ state: 'detached' })
    const before = loaded.length
    await page.getByRole('button', { name: 'Show more' }).click()
    await row(page, 'Team 99 of many').waitFor()
    await page.getByText('…', { exact: true }).first().waitFor({ state: 'detached' })
    const more = loaded.slice(before)
    assert.ok(more.length > 0 && more.length < 50, `${more.length} calls for the last rows`)
  },
)
