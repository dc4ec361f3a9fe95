// The documentation site in Chromium. It sends no request to another origin and does nothing that its policy forbids.
// It is accessible in both themes, no wider than a phone, and small. Its search works from static files.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import axe from 'axe-core'
import { pageOf } from '../../site/markdown.mjs'
import { launchChromium, NARROW, WIDE } from '../browser/browser.mjs'
import { startSite } from './server.mjs'

const MAX_FIRST_VIEW = 200_000
const LOAD_MS = 90_000 // on a busy machine, the first page takes a long time
const RULES = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }
const COLOR_RULES = { type: 'rule', values: ['color-contrast'] } // the only rules that depend on the theme

const PAGES = [
  '',
  'agents/claude-code/',
  'clients/frameworks/',
  'guides/caching/',
  'guides/governor/',
  'operate/dashboard/',
  'reference/api/completions/',
  'reference/errors/',
  'project/architecture/',
  'no-such-page/',
]

const site = await startSite()
const browser = await launchChromium()
after(async () => {
  await browser.close()
  site.close()
})

/** Opens a page with an empty browser cache, and records anything that it must not do. */
async function open(path, options) {
  const context = await browser.newContext({ viewport: WIDE, reducedMotion: 'reduce', ...options })
  context.setDefaultNavigationTimeout(LOAD_MS)
  const page = await context.newPage()
  const problems = []
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol.startsWith('http') && url.origin !== site.origin) problems.push(`foreign request: ${url}`)
  })
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('console', (message) => {
    const missing = path === 'no-such-page/' && message.text().includes('404')
    if (['error', 'warning'].includes(message.type()) && !missing) problems.push(message.text())
  })
  await page.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    ),
  )
  await page.goto(`${site.origin}/docs/${path}`, { waitUntil: 'networkidle' })
  return { page, problems, close: () => context.close() }
}

/** The problems that axe finds: rule and elements. */
async function findings(page, rules) {
  const { violations } = await page.evaluate(
    (runOnly) => globalThis.axe.run(document, { resultTypes: ['violations'], runOnly }),
    rules,
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 5).map(({ html }) => html)}`)
}

for (const path of PAGES) {
  test(`the page /docs/${path} is small, accessible and keeps to its policy`, async () => {
    site.sent()
    const { page, problems, close } = await open(path, { colorScheme: 'light' })
    const bytes = site.sent()
    assert.ok(bytes > 0 && bytes <= MAX_FIRST_VIEW, `the first view has ${bytes} bytes`)
    await page.evaluate(axe.source)
    assert.deepEqual(await findings(page, RULES), [], 'axe, light')
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator('html[data-theme=dark]').waitFor()
    assert.deepEqual(await findings(page, COLOR_RULES), [], 'axe, dark')
    await page.getByRole('link').nth(3).hover()
    await page.setViewportSize(NARROW)
    const [width, room] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.clientWidth,
    ])
    assert.equal(width, room, 'wider than the viewport')
    assert.deepEqual(
      await findings(page, { type: 'rule', values: ['scrollable-region-focusable', 'button-name'] }),
      [],
      'axe, narrow',
    )
    assert.deepEqual(problems, [])
    await close()
  })
}

test('the search finds a word and leads to its page', async () => {
  const { page, problems, close } = await open('')
  await page.keyboard.press('Control+k')
  await page
    .getByRole('dialog')
    .getByRole('searchbox')
    .or(page.getByPlaceholder('Search'))
    .first()
    .fill('model_not_allowed')
  const result = page
    .getByRole('dialog')
    .getByRole('link', { name: /Errors/ })
    .first()
  await result.click()
  await page.waitForURL(/\/docs\/reference\/errors\//)
  assert.match(await page.locator('main').textContent(), /model_not_allowed/)
  assert.deepEqual(problems, [])
  await close()
})

test('a choice of the theme is kept', async () => {
  const { page, problems, close } = await open('', { colorScheme: 'light' })
  await page.getByLabel('Select theme').first().selectOption('dark')
  await page.goto(`${site.origin}/docs/guides/caching/`)
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
  assert.deepEqual(problems, [])
  await close()
})

/** A page of the site, with code in three languages at its top. */
async function withTabs(path) {
  const languages = ['ts', 'python', 'go'].map((language) => `\`\`\`${language}\n${language} code\n\`\`\``)
  const markdown = pageOf('docs/guides/caching.md', `# Title\n\n${languages.join('\n\n')}\n`, new Map())
  const opened = await open(path)
  await opened.page.route('**/docs/**/', async (route) => {
    const response = await route.fetch()
    const html = await response.text()
    const body = html.replace(
      '<div class="sl-markdown-content">',
      (start) => start + markdown.slice(markdown.indexOf('<div')),
    )
    await route.fulfill({ response, body })
  })
  await opened.page.reload()
  return opened
}

test('tabs show one language, by mouse and keyboard, and keep the choice', async () => {
  const { page, problems, close } = await withTabs('guides/caching/')
  const shown = async () => page.getByRole('tabpanel').filter({ visible: true }).allTextContents()
  const only = async (text) => {
    const texts = await shown()
    assert.deepEqual([texts.length, texts[0].includes(text)], [1, true], `${texts} in place of ${text}`)
  }
  await only('ts code')
  await page.getByRole('tab', { name: 'Python' }).click()
  await only('python code')
  await page.keyboard.press('ArrowRight')
  await only('go code')
  assert.equal(await page.getByRole('tab', { selected: true }).textContent(), 'Go')
  await page.evaluate(axe.source)
  assert.deepEqual(await findings(page, RULES), [])
  await page.reload()
  await only('go code')
  assert.deepEqual(problems, [])
  await close()
})
