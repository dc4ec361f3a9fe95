// Checks every page in both themes and three widths. It must be accessible according to axe's rules and no wider than
// the viewport. Screenshots are written to build/screenshots.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { MEDIUM, NARROW, startBrowser, WIDE } from './browser.mjs'
import { startService, until } from './service.mjs'
import { overviewInTrouble } from './standin.mjs'
import { ROOT } from './workers.mjs'

const SCREENSHOTS = join(ROOT, 'build/screenshots')
mkdirSync(SCREENSHOTS, { recursive: true })

const service = await startService()
const { journey } = await startBrowser(service)
const { project, key } = await seedProject()
const failed = await seedFailure() // before the Governor is enabled, because its classifier would also call the failing provider
const { violation, entry } = await seedGovernance()
const { department, team } = await seedGroups()

/** Creates a project with data for every page. */
async function seedProject() {
  const project = await service.project({ name: 'Customer support assistant', budget: 3 })
  const base = `projects/${project.id}`
  const key = await service.key(project, { name: 'Backend, Frankfurt' })
  await service.key(project, {
    name: 'A very long name that must wrap or be truncated without widening the page on narrow screens '
      .repeat(2)
      .slice(0, 100),
  })
  const idle = await service.key(project, { name: 'Nightly batch', kind: 'project', environment: 'development' })
  await service.admin('POST', `${base}/keys/${idle.id}/deactivate`)
  await service.admin('PUT', `${base}/provider-keys/openai`, { key: 'sk-their-own-0123456789' })
  const route = {
    strategy: 'weighted',
    targets: [
      { model: 'dime', weight: 3 },
      { model: 'nickel', weight: 1 },
    ],
  }
  await service.admin('PATCH', base, {
    routes: { balanced: route },
    alerts: { url: 'https://example.com/hooks/postern' },
  })
  for (const quality of ['cheap', 'balanced', 'frontier', 'cheap']) {
    const response = await service.complete(key.value, {
      quality,
      messages: [{ role: 'user', content: `A ${quality} question` }],
    })
    assert.equal(response.status, 200, JSON.stringify(response.body))
  }
  await service.complete(key.value, { quality: 'best' })
  await until('the requests are listed', async () => (await service.get(`${base}/requests`)).requests.length >= 4)
  await until('the usage is reported', async () => (await service.get(`${base}/usage`)).totals.requests >= 4)
  return { project, key }
}

/** Gives the project Governor settings, a violation and an entry in the model registry. */
async function seedGovernance() {
  const base = `projects/${project.id}`
  await service.admin('PATCH', base, { plan: 'guarded' })
  await service.admin('PUT', `${base}/governor`, {
    enabled: true,
    rules: { 'personal.email': { input: 'redact' } },
    keywords: [{ name: 'codenames', words: ['Blue Heron'] }],
    patterns: [{ name: 'employee-id', pattern: 'EMP-[0-9]{6}' }],
    classifier: { kind: 'moderation' },
  })
  const content = 'Charge 4111 1111 1111 1111'
  await service.complete(key.value, { quality: 'cheap', messages: [{ role: 'user', content }] })
  const violations = async () => (await service.get(`${base}/violations`)).violations
  await until('the violation is listed', async () => (await violations()).length === 1)
  const entry = await service.admin('POST', `${base}/models-registry`, {
    model: 'dime',
    owner: 'Platform team',
    reviewDate: '2020-01-31',
  })
  await service.admin('POST', `${base}/models-registry/${entry.id}/transitions`, { to: 'approved', reason: 'Reviewed' })
  return { violation: (await violations())[0], entry }
}

/** Puts the project into a team of a department. */
async function seedGroups() {
  const department = await service.admin('POST', 'groups', { name: 'Research and development', budget: 100 })
  const fields = {
    name: 'Customer experience '.repeat(6).trim(),
    parent: department.id,
    budget: 5,
    budgetPeriod: 'day',
  }
  const team = await service.admin('POST', 'groups', fields)
  await service.admin('PATCH', `projects/${project.id}`, { group: team.id })
  return { department, team }
}

/** Sends a request that fails at both targets of its route, and returns its ID. */
async function seedFailure() {
  const next = { kind: 'status', status: 503, family: 'openai', times: 4 }
  await fetch(`${service.upstream}/__fake/next`, { method: 'POST', body: JSON.stringify(next) })
  const { status, headers } = await service.complete(key.value, { quality: 'balanced' })
  assert.equal(status, 502)
  const id = headers.get('x-request-id')
  const at = `projects/${project.id}/requests?request=${id}`
  await until('the failure is recorded', async () => (await service.get(at)).requests.length === 1)
  return id
}

const inProject = (page) => `/dashboard/projects/${project.id}${page}`
const heading = (name) => (page) => page.getByRole('heading', { level: 1, name }).waitFor()

/** Types a text into the palette, and waits for an option, or for none. */
async function find(page, typed, option) {
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('combobox', { name: 'Find' }).fill(typed)
  if (option) await page.getByRole('option', { name: option }).waitFor()
  else await page.getByRole('listbox').waitFor({ state: 'detached' })
}

/** The time a number of hours ago, in the format for a URL. */
const hoursAgo = (hours) => `${new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 15)}0:00Z`

/** The overview of a deployment in trouble, with names of 120 characters. */
async function trouble(page) {
  const report = overviewInTrouble()
  report.projects.length = 12 // screenshots of 200 projects would be slow
  await page.route(/\/api\/admin\/overview/, (route) => route.fulfill({ json: report }))
  await page.reload()
  await page.getByText('Refusals rising').waitFor()
}

const text = (words) => (page) => page.getByText(words).first().waitFor()

// The fields of a page: its name, whether the user is signed in, its path, and the steps before the checks.
const PAGES = [
  ['signin', false, '/dashboard', heading('Sign in')],
  ['overview', true, '/dashboard', text('Customer support')],
  ['overview-trouble', true, '/dashboard?range=7d', trouble],
  ['all-violations', true, '/dashboard/violations', text('personal.payment-card')],
  ['projects', true, '/dashboard/projects', text('Customer support')],
  ['project-new', true, '/dashboard/projects/new', text('Sets the limits of the project’s keys')],
  ['home', true, inProject(''), text('By model')],
  ['home-hour', true, inProject('?range=1h&compare=true&by=key'), text('By API key')],
  [
    'home-custom',
    true,
    inProject(`?range=custom&from=${hoursAgo(3)}&to=${hoursAgo(-1)}&by=provider`),
    text('By provider'),
  ],
  ['costs', true, inProject('/costs'), (page) => page.getByText('Recorded tokens by model').first().click()],
  ['keys', true, inProject('/keys'), text('Nightly batch')],
  [
    'key-new',
    true,
    inProject('/keys/new'),
    async (page) => {
      await page.getByText('Models, permissions, limits, budget, expiry').click()
      await page.getByText('Restrict permissions').click()
    },
  ],
  ['key', true, inProject(`/keys/${key.id}`), text('Created (UTC)')],
  [
    'key-delete',
    true,
    inProject('/keys'),
    async (page) => {
      await page.getByRole('button', { name: 'Delete Nightly batch' }).click()
      await page.getByRole('dialog').waitFor()
    },
  ],
  [
    'keys-selected',
    true,
    inProject('/keys'),
    async (page) => {
      await page.getByRole('checkbox', { name: 'Select all shown' }).check()
      await page.getByRole('checkbox', { name: 'Select Nightly batch' }).uncheck()
      await page.getByText('2 keys selected').last().waitFor()
      // The bar covers part of a row unless the page is scrolled to its end.
      await page.evaluate(() => addEventListener('resize', () => scrollTo(0, document.body.scrollHeight)))
    },
  ],
  [
    'keys-deactivated',
    true,
    inProject('/keys'),
    async (page) => {
      await page.route('**/deactivate', (route) =>
        route.fulfill({ status: 409, json: { error: 'Conflict', code: 'conflict' } }),
      )
      await page.getByRole('checkbox', { name: 'Select all shown' }).check()
      await page.getByRole('button', { name: 'Deactivate 2' }).click()
      await page.getByRole('button', { name: 'Deactivate 2 keys' }).click()
      await page.getByText('0 keys deactivated, 2 failed').waitFor()
    },
  ],
  [
    'violations-selected',
    true,
    inProject('/violations'),
    async (page) => {
      await page.getByRole('checkbox', { name: 'Select all shown' }).check()
      await page.getByRole('button', { name: 'Resolve 1' }).click()
      await page.getByRole('dialog').waitFor()
    },
  ],
  [
    'playground',
    true,
    inProject('/playground'),
    async (page) => {
      await page.getByRole('textbox', { name: 'API key' }).fill(key.value)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText('Complete', { exact: true }).waitFor()
    },
  ],
  ['requests', true, inProject('/requests'), text('nickel')],
  ['request-drawer', true, inProject(`/requests?open=${failed}`), text('Send it again')],
  ['request', true, inProject(`/requests/${failed}`), text('Send it again')],
  ['request-missing', true, inProject(`/requests/req_${'0'.repeat(32)}`), text('Look in all projects')],
  ['routes', true, inProject('/routes'), text('project override')],
  ['route-edit', true, inProject('/routes'), (page) => page.getByRole('button', { name: 'Edit balanced' }).click()],
  ['provider-keys', true, inProject('/provider-keys'), text('…6789')],
  [
    'governor',
    true,
    inProject('/governor'),
    async (page) => {
      await page.getByRole('button', { name: 'Show rules of Personal data' }).click()
      await page.getByRole('button', { name: 'Check text' }).click()
      await page.getByRole('region', { name: 'Result' }).waitFor()
    },
  ],
  [
    'governor-lists',
    true,
    inProject('/governor'),
    async (page) => {
      for (const entry of ['keyword list', 'pattern', 'exemption', 'exemption']) {
        await page.getByRole('button', { name: `Add ${entry}` }).click()
      }
      const exemption = page.getByRole('group', { name: 'New exemption' })
      await exemption.first().getByLabel('Value').fill('support@example.com')
      await exemption.getByLabel('Only for the rule').fill('personal.nobody')
      await page.getByRole('button', { name: 'Save settings' }).click()
      await exemption.getByText('must be a rule or category').waitFor()
    },
  ],
  ['violations', true, inProject('/violations'), text('personal.payment-card')],
  ['violation', true, inProject(`/violations/${violation.id}`), text('Mark as false positive')],
  ['registry', true, inProject('/registry'), text('overdue')],
  ['registry-new', true, inProject('/registry/new'), text('Data classes')],
  ['registry-entry', true, inProject(`/registry/${entry.id}`), text('Changes of state')],
  [
    'registry-restrict',
    true,
    inProject(`/registry/${entry.id}`),
    async (page) => {
      await page.getByRole('button', { name: 'Restrict', exact: true }).click()
      await page.getByRole('dialog').getByLabel('Backend, Frankfurt').waitFor()
    },
  ],
  [
    'compliance',
    true,
    inProject('/compliance'),
    async (page) => {
      await page.getByText('Audit log and events').waitFor()
      await page.getByRole('button', { name: 'Verify records' }).click()
      await page.getByText('verified', { exact: true }).waitFor()
    },
  ],
  ['settings', true, inProject('/settings'), text('Signing secret: …')],
  ['groups', true, '/dashboard/groups', text('Research and development')],
  ['group', true, `/dashboard/groups/${department.id}`, text('remaining')],
  ['group-team', true, `/dashboard/groups/${team.id}?by=key`, text('Settings version')],
  ['group-root', true, '/dashboard/groups/root', text('Settings version')],
  ['group-new', true, `/dashboard/groups/new?parent=${department.id}`, text('It cannot be changed later')],
  ['models', true, '/dashboard/models?q=gpt-4', text('gpt-4.1')],
  ['providers', true, '/dashboard/providers', text('API format')],
  ['audit', true, '/dashboard/audit', text('Nightly batch')],
  ['missing', true, '/dashboard/nothing', heading('Page not found')],
  ['palette', true, inProject('/keys'), (page) => find(page, 'a', 'Show more models')],
  ['palette-key', true, inProject('/keys'), (page) => find(page, key.value, 'Deactivate this key now')],
  ['palette-nothing', true, inProject(''), (page) => find(page, 'sk-not-sent', null)],
]

const RULES = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }
const COLOR_RULES = { type: 'rule', values: ['color-contrast'] }

/** The serious and critical accessibility violations that axe finds: rule and elements. */
async function findings(page, rules) {
  const { violations } = await page.evaluate(
    (runOnly) => globalThis.axe.run(document, { resultTypes: ['violations'], runOnly }),
    rules,
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
}

/** The horizontal overflow of the page, in pixels. */
const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/**
 * Finds IDs that are not links, except the page's own ID. Also finds amounts that are not in dollars, or that have
 * fewer than two decimal places. Errors mention request IDs of the admin API, which have no page.
 */
const strays = (page) =>
  page.evaluate(() => {
    const found = []
    const texts = document.createTreeWalker(document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode
      if (parentElement.closest('pre, option, [role=option], .facts')) continue
      const ids = parentElement.closest('a') ? [] : (data.match(/\b(proj|key|vio|mod|req)_[0-9a-f]{20,}/g) ?? [])
      const amounts = data.match(/\$\S*\d\S*|[\d.]+ ?(¢|cents?\b|USD)/g) ?? []
      found.push(...ids.filter((id) => !location.pathname.endsWith(id)))
      found.push(...amounts.filter((amount) => !/^\$\d{1,3}(,\d{3})*\.\d{2,12}\W?$/.test(amount)))
    }
    return found
  })

/** Waits until nothing is loading and scripts have resized what they draw. */
async function idle(page) {
  await page.locator('.skeleton, [aria-busy=true]').first().waitFor({ state: 'detached' })
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
}

// Any rule can depend on the width, but only the color rules depend on the theme.
const LOOKS = [
  ['light', WIDE, RULES],
  ['dark', WIDE, COLOR_RULES],
  ['dark', MEDIUM, RULES],
  ['light', NARROW, RULES],
]

for (const [name, signedIn, path, prepare] of PAGES) {
  journey(`the page ${name} is accessible and fits`, { as: signedIn ? 'owner' : undefined }, async ({ page }) => {
    await page.goto(path)
    await prepare(page)
    await page.evaluate(axe.source)
    assert.match(await page.title(), / · Postern$/)
    assert.deepEqual(await strays(page), [], 'IDs without a link, and amounts in another form')
    for (const [colorScheme, viewport, rules] of LOOKS) {
      const look = `${colorScheme}-${viewport.width}`
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(viewport)
      await idle(page)
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${look}.png`), fullPage: true })
      assert.equal(await overflow(page), 0, `${look}: wider than the viewport`)
      assert.deepEqual(await findings(page, rules), [], `axe, ${look}`)
    }
  })
}

journey('the selected theme survives a reload', { as: 'owner', colorScheme: 'light' }, async ({ page }) => {
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  await page.goto('/dashboard/models')
  await page.getByLabel('Theme').waitFor()
  const light = await background()
  await page.getByLabel('Theme').selectOption('dark')
  const dark = await background()
  assert.notEqual(dark, light)
  await page.reload()
  await page.getByLabel('Theme').waitFor()
  assert.equal(await background(), dark)
})

journey('the help links include the OpenAPI document', { as: 'owner' }, async ({ page }) => {
  await page.goto('/dashboard/models')
  const links = page.getByRole('list', { name: 'Help' }).getByRole('link')
  await links.filter({ hasText: 'Documentation' }).waitFor() // appears when the session says that there is one
  assert.deepEqual(await links.allTextContents(), ['Documentation', 'Adding models', 'OpenAPI spec'])
  for (const link of await links.all()) {
    assert.equal((await page.request.get(await link.getAttribute('href'))).status(), 200)
  }
  const response = await page.request.get(await links.last().getAttribute('href'))
  assert.equal(response.status(), 200)
  assert.match(await response.text(), /^openapi: 3\./)
})
