// Every page, in both themes and two widths: nothing that axe finds serious, nothing wider than the window.
// A screenshot of each is left in build/screenshots.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { NARROW, startBrowser, WIDE } from './browser.mjs'
import { startService, until } from './service.mjs'
import { ROOT } from './workers.mjs'

const SCREENSHOTS = join(ROOT, 'build/screenshots')
mkdirSync(SCREENSHOTS, { recursive: true })

const service = await startService()
const { journey } = await startBrowser(service)
const { project, key } = await furnish()

/** A project in which every page has something to show. */
async function furnish() {
  const project = await service.project({ name: 'Customer support assistant', budget: 3 })
  const base = `projects/${project.id}`
  const key = await service.key(project, { name: 'Backend, Frankfurt' })
  await service.key(project, {
    name: 'A name as long as somebody may give it, without any thought for narrow screens '.repeat(2).slice(0, 100),
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
    const answer = await service.ask(key.value, {
      quality,
      messages: [{ role: 'user', content: `A ${quality} question` }],
    })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  await service.ask(key.value, { quality: 'best' })
  await until('the requests are listed', async () => (await service.get(`${base}/requests`)).requests.length >= 4)
  await until('the usage is there', async () => (await service.get(`${base}/usage`)).totals.requests >= 4)
  return { project, key }
}

const inProject = (page) => `/dashboard/projects/${project.id}${page}`
const heading = (name) => (page) => page.getByRole('heading', { level: 1, name }).waitFor()
const text = (words) => (page) => page.getByText(words).first().waitFor()

// Each: its name, whether one is signed in, its address, and what is done there before it is looked at.
const PAGES = [
  ['signin', false, '/dashboard', heading('Sign in')],
  ['projects', true, '/dashboard', text('Customer support')],
  ['project-new', true, '/dashboard/projects/new', text('It sets the keys’ limits')],
  ['home', true, inProject(''), text('By model')],
  ['home-day', true, inProject('?period=day'), text('By model')],
  ['keys', true, inProject('/keys'), text('Nightly batch')],
  [
    'key-new',
    true,
    inProject('/keys/new'),
    async (page) => {
      await page.getByText('Models, permissions, limits, expiry').click()
      await page.getByText('Restrict what it may do').click()
    },
  ],
  ['key', true, inProject(`/keys/${key.id}`), text('Change it')],
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
    'playground',
    true,
    inProject('/playground'),
    async (page) => {
      await page.getByRole('textbox', { name: 'Key' }).fill(key.value)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText('Complete', { exact: true }).waitFor()
    },
  ],
  ['requests', true, inProject('/requests'), text('nickel')],
  ['routes', true, inProject('/routes'), text('this project’s own')],
  ['route-edit', true, inProject('/routes'), (page) => page.getByRole('button', { name: 'Edit balanced' }).click()],
  ['provider-keys', true, inProject('/provider-keys'), text('…6789')],
  ['settings', true, inProject('/settings'), text('Its secret ends with')],
  ['models', true, '/dashboard/models?q=gpt-4', text('gpt-4.1')],
  ['providers', true, '/dashboard/providers', text('Wire format')],
  ['audit', true, '/dashboard/audit', text('Nightly batch')],
  ['missing', true, '/dashboard/nothing', heading(/not|no /i)],
]

const RULES = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }
const COLOURS = { type: 'rule', values: ['color-contrast'] }

/** What axe finds by some rules that keeps people out: which rule, and where. */
async function findings(page, rules) {
  const { violations } = await page.evaluate(
    (runOnly) => globalThis.axe.run(document, { resultTypes: ['violations'], runOnly }),
    rules,
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
}

/** By how many pixels the page is wider than its window. */
const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/** Until nothing is loading and what is drawn by script has its size. */
async function settled(page) {
  await page.locator('.skeleton, [aria-busy=true]').first().waitFor({ state: 'detached' })
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
}

// Widths have rules of their own to break, themes only those about colours.
const LOOKS = [
  ['light', WIDE, RULES],
  ['dark', WIDE, COLOURS],
  ['dark', NARROW, RULES],
  ['light', NARROW, COLOURS],
]

for (const [name, signedIn, path, prepare] of PAGES) {
  journey(`the page ${name}`, { as: signedIn ? 'owner' : undefined }, async ({ page }) => {
    await page.goto(path)
    await prepare(page)
    await page.evaluate(axe.source)
    assert.match(await page.title(), / · Postern$/)
    for (const [colorScheme, viewport, rules] of LOOKS) {
      const look = `${colorScheme}-${viewport.width}`
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(viewport)
      await settled(page)
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${look}.png`), fullPage: true })
      assert.equal(await overflow(page), 0, `${look}: wider than the window`)
      assert.deepEqual(await findings(page, rules), [], `axe, ${look}`)
    }
  })
}

journey('the theme that is chosen stays', { as: 'owner', colorScheme: 'light' }, async ({ page }) => {
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
