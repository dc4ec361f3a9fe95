// Chromium, with pages that record everything a dashboard page must not do.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { chromium } from 'playwright-core'
import { chromiumPath } from '../chromium.mjs'
import { ROOT } from './workers.mjs'

const FAILURES = join(ROOT, 'build/browser/failures')
const WAIT_MS = 30_000
// On a busy machine, starting the browser's process and loading a page may take a long time.
const LOAD_MS = 90_000
const JOURNEY_TIMEOUT_MS = 300_000
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
]

/** The viewports in which every page must fit. */
export const NARROW = { width: 360, height: 740 }
export const MEDIUM = { width: 600, height: 800 }
export const WIDE = { width: 1440, height: 900 }

/** Starts Chromium for one test file. */
export async function startBrowser(service) {
  const browser = await launchChromium()
  after(() => browser.close())
  return new Browser(browser, service)
}

export function launchChromium() {
  return chromium.launch({
    executablePath: chromiumPath,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
}

class Browser {
  #browser
  #service

  constructor(browser, service) {
    this.#browser = browser
    this.#service = service
  }

  /**
   * Registers a test with its own browser context. The test also fails on console errors, policy violations and other
   * problems that a user would not see. If it fails, its screenshots are kept.
   * @param {{as?: 'owner' | 'viewer', viewport?: object, colorScheme?: string, permissions?: string[]}} options
   * @param {(visit: Visit) => Promise<void>} run
   */
  journey = (name, { as, ...options }, run) => {
    test(name, { timeout: JOURNEY_TIMEOUT_MS }, async () => {
      const visit = await this.visit(as, options)
      try {
        await run(visit)
        visit.checkQuiet()
      } catch (error) {
        error.message += await visit.screenshots(name)
        throw error
      } finally {
        await visit.close()
      }
    })
  }

  /** Opens a separate browser context with one page, signed in as owner or viewer, or signed out. */
  async visit(as, options = {}) {
    const context = await this.#browser.newContext({
      baseURL: this.#service.url,
      viewport: WIDE,
      reducedMotion: 'reduce',
      ...options,
    })
    context.setDefaultTimeout(WAIT_MS)
    context.setDefaultNavigationTimeout(LOAD_MS)
    const visit = new Visit(context, this.#service.url)
    if (as) await context.addCookies([await this.#service.cookie(as)])
    visit.page = await visit.open()
    return visit
  }
}

class Visit {
  /** Other origins that the test itself opens. */
  others = new Set()
  /** Patterns of the console errors that the test provokes. */
  expected = []
  /** Whether the test lets the browser ask before it closes a tab, and the URLs of the tabs that stayed open. */
  asks = false
  asked = []
  /** All responses from the dashboard's origin, for checkAbsent: {url, body}, where body is a promise. */
  responses = []
  #context
  #origin
  #problems = []

  constructor(context, origin) {
    this.#context = context
    this.#origin = origin
    this.context = context
    context.on('request', (request) => this.#request(request))
    context.on('response', (response) => this.#response(response))
    context.on('console', (message) => this.#console(message))
    context.on('weberror', (error) => this.#problems.push(`error: ${error.error().message}`))
    context.on('dialog', (dialog) => {
      if (dialog.type() === 'beforeunload' && this.asks) this.asked.push(dialog.page().url())
      else this.#problems.push(`dialog: ${dialog.type()} ${dialog.message()}`)
      void dialog.dismiss()
    })
  }

  /** Opens another tab. */
  async open() {
    const page = await this.#context.newPage()
    // Some violations do not appear in the console on their own.
    await page.addInitScript(() =>
      document.addEventListener('securitypolicyviolation', (event) =>
        console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`),
      ),
    )
    return page
  }

  #foreign(url) {
    const { protocol, origin } = new URL(url)
    return protocol.startsWith('http') && origin !== this.#origin && !this.others.has(origin)
  }

  #request(request) {
    if (this.#foreign(request.url())) this.#problems.push(`foreign request: ${request.url()}`)
  }

  #response(response) {
    if (!response.url().startsWith(`${this.#origin}/`)) return
    if (response.request().resourceType() === 'document') this.#document(response)
    this.responses.push({ url: response.url(), body: response.text().catch(() => '') })
  }

  #document(response) {
    const policy = response.headers()['content-security-policy'] ?? 'none'
    if (new URL(response.url()).pathname.startsWith('/dashboard') && policy !== POLICY.join('; ')) {
      this.#problems.push(`policy of ${response.url()}: ${policy}`)
    }
  }

  // Chromium logs every response with a status of 400 or above. The API's 4xx responses are expected, because the
  // page shows them.
  #console(message) {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    const at = message.location().url
    const clientError = /^Failed to load resource: the server responded with a status of 4\d\d/.test(message.text())
    if (clientError && at.startsWith(this.#origin) && !at.startsWith(`${this.#origin}/dashboard`)) return
    if (this.expected.some((pattern) => pattern.test(message.text()))) return
    if (this.others.has(originOf(at)) || this.others.has(originOf(message.page()?.url()))) return
    this.#problems.push(`console: ${message.text()} (${at})`)
  }

  /** Fails if the context recorded a problem. */
  checkQuiet() {
    assert.deepEqual(this.#problems, [])
  }

  /** Fails if a secret is in any response so far or in the current content of a page. */
  async checkAbsent(secret, what) {
    for (const { url, body } of this.responses) {
      assert.ok(!(await body).includes(secret), `${what} is in the response of ${url}`)
    }
    for (const page of this.#context.pages()) {
      assert.ok(!(await page.content()).includes(secret), `${what} is in the page ${page.url()}`)
    }
  }

  async screenshots(name) {
    mkdirSync(FAILURES, { recursive: true })
    let text = ''
    for (const [i, page] of this.#context.pages().entries()) {
      const path = join(FAILURES, `${name.replace(/\W+/g, '-')}-${i + 1}.png`)
      const taken = await page.screenshot({ path, fullPage: true }).then(
        () => path,
        (error) => error.message,
      )
      text += `\n  page ${page.url()}: ${taken}`
    }
    return text
  }

  close() {
    return this.#context.close()
  }
}

function originOf(url) {
  return URL.canParse(url) ? new URL(url).origin : ''
}
