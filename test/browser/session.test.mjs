// Sign-in, roles, and the end of sessions.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

/** Fills in the sign-in form and submits it. */
async function signIn(page, token) {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

const signedIn = (page) => page.getByRole('button', { name: 'Sign out' }).waitFor()
const onSignIn = (page) => page.getByRole('heading', { name: 'Sign in' }).waitFor()

journey(
  'an invalid token is rejected; a valid one leads to the requested page, until sign-out',
  {},
  async ({ page }) => {
    await page.goto('/dashboard/models')
    await onSignIn(page)
    assert.equal(await page.title(), 'Sign in · Postern')
    await signIn(page, 'wrong')
    await page.getByRole('alert').getByText('Invalid token.').waitFor()
    await until('the field has the focus', () =>
      page.getByLabel('Token', { exact: true }).evaluate((input) => input === document.activeElement),
    )
    await signIn(page, service.tokens.owner)
    await page.getByRole('heading', { name: 'Models and prices' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/dashboard/models')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await onSignIn(page)
    await page.goto('/dashboard/audit')
    await onSignIn(page)
  },
)

journey('the session is an HttpOnly cookie, and the token is not stored', {}, async ({ page, context }) => {
  await page.goto('/dashboard')
  await signIn(page, service.tokens.owner)
  await signedIn(page)
  const [cookie] = await context.cookies(`${service.url}/api/admin/`)
  const { name, httpOnly, secure, sameSite, path } = cookie
  assert.deepEqual(
    { name, httpOnly, secure, sameSite, path },
    { name: 'postern_session', httpOnly: true, secure: true, sameSite: 'Strict', path: '/api/admin' },
  )
  const stored = await page.evaluate(() =>
    JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]),
  )
  assert.equal(stored, '["",{},{}]')
  assert.ok(!page.url().includes(service.tokens.owner))
})

for (const [how, tamper] of [
  ['is missing', () => undefined],
  ['was tampered with', (cookie) => ({ ...cookie, value: cookie.value.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')) })],
]) {
  journey(
    `a session cookie that ${how} leads to sign-in and back to the page`,
    { as: 'owner' },
    async ({ page, context }) => {
      const project = await service.project({ name: 'Interrupted' })
      await page.goto(`/dashboard/projects/${project.id}/settings`)
      await page.getByLabel('Budget (USD)').waitFor()
      const [cookie] = await context.cookies(`${service.url}/api/admin/`)
      await context.clearCookies()
      const tampered = tamper(cookie)
      if (tampered) await context.addCookies([tampered])
      // This is not a mouse click, because the sign-in dialog may already cover the link after a background refresh.
      await page.getByRole('link', { name: 'API keys', exact: true }).evaluate((link) => link.click())
      await onSignIn(page)
      await signIn(page, service.tokens.owner)
      await page.getByText('No API keys yet').waitFor()
      assert.equal(new URL(page.url()).pathname, `/dashboard/projects/${project.id}/keys`)
    },
  )
}

journey('unsaved input survives a renewed sign-in', { as: 'owner' }, async ({ page, context }) => {
  const project = await service.project({ name: 'Typed' })
  await page.goto(`/dashboard/projects/${project.id}/settings`)
  await page.getByLabel('Name').fill('Typed for long')
  await context.clearCookies()
  const save = page.getByRole('button', { name: 'Save settings' })
  await save.click()
  await onSignIn(page)
  await page.keyboard.press('Escape')
  await signIn(page, service.tokens.owner)
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await until('the button has the focus again', () => save.evaluate((button) => button === document.activeElement))
  await save.click()
  await until('it is saved', async () => (await service.get(`projects/${project.id}`)).name === 'Typed for long')
  await page.locator('button[aria-busy="true"]').waitFor({ state: 'detached' }) // the page has also received the response

  await page.getByLabel('Name').fill('Discarded')
  await context.clearCookies()
  await save.click()
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
  assert.equal(await page.getByText('Typed for long').count(), 0)
})

journey(
  'a session that ends is named, and the page continues with its URL’s filters',
  { as: 'owner' },
  async ({ page, context }) => {
    const project = await service.project({ name: 'Filtered' })
    await service.key(project, { name: 'The needle' })
    await service.key(project, { name: 'Hay' })
    await page.goto(`/dashboard/projects/${project.id}/keys?status=active`)
    await page.getByText('2 keys', { exact: true }).waitFor()
    await context.clearCookies()
    await page.getByLabel('Search by name').fill('needle')
    await page.getByText('Your session has ended').waitFor()
    assert.equal(await page.getByText('Could not load').count(), 0, 'the dialog is the only message')
    await signIn(page, service.tokens.owner)
    await page.getByText('1 key', { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Search by name').inputValue(), 'needle')
    assert.equal(new URL(page.url()).search, '?status=active&q=needle')
    await context.clearCookies()
    await page.reload()
    await onSignIn(page)
    await signIn(page, service.tokens.owner)
    await page.getByText('1 key', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '?status=active&q=needle')
  },
)

journey('a failed sign-out keeps the session', { as: 'owner' }, async ({ page }) => {
  await page.goto('/dashboard/projects')
  await signedIn(page)
  const reject = (route) =>
    route.fulfill({ status: 429, headers: { 'retry-after': '3' }, json: { error: 'Slow down' } })
  await page.route('**/api/admin/session', reject)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('.notices').getByText('You are still signed in').waitFor()
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await onSignIn(page)
})

journey('a viewer sees everything and cannot make changes', { as: 'viewer' }, async ({ page }) => {
  const project = await service.project({ name: 'Watched' })
  const key = await service.key(project, { name: 'Theirs' })
  const reason = 'You are signed in as a viewer'
  for (const [path, controls] of [
    ['projects', ['Create project']],
    [`projects/${project.id}/keys`, ['Create key', 'Deactivate Theirs', 'Rotate Theirs', 'Delete Theirs']],
    [`projects/${project.id}/keys/${key.id}`, ['Save']],
    [`projects/${project.id}/settings`, ['Save settings', 'Save webhook', 'Archive project']],
    [`projects/${project.id}/routes`, ['Edit balanced']],
    [`projects/${project.id}/provider-keys`, ['Set key']],
  ]) {
    await page.goto(`/dashboard/${path}`)
    await page.getByText(reason).waitFor()
    for (const name of controls) {
      const button = page.getByRole('button', { name, exact: true })
      await button.waitFor()
      assert.equal(await button.isDisabled(), true, `${name} on ${path}`)
    }
  }
  const forced = await page.evaluate(async () => {
    const response = await fetch('/api/admin/projects', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"Forced"}',
    })
    return [response.status, (await response.json()).code]
  })
  assert.deepEqual(forced, [403, 'insufficient_permissions'])
  const { projects } = await service.get('projects?q=Forced')
  assert.deepEqual(projects, [])
})

journey('a new owner token ends all sessions of the previous one', { as: 'owner' }, async ({ page }) => {
  // A request in flight would end the session. A busy page can be idle before it sends its requests.
  await page.goto('/dashboard/projects', { waitUntil: 'networkidle' })
  await signedIn(page)
  await page.locator('.skeleton, [aria-busy=true]').first().waitFor({ state: 'detached' })
  const previous = service.tokens.owner
  await service.rotateOwner()
  await page.getByRole('link', { name: 'Audit log' }).click()
  await onSignIn(page)
  await signIn(page, previous)
  await page.getByRole('alert').getByText('Invalid token.').waitFor()
  await signIn(page, service.tokens.owner)
  await page.getByRole('heading', { name: 'Audit log' }).waitFor()
})

// Must be the last test, because it locks out this machine's address.
journey('repeated invalid tokens cause a lockout that a valid token passes', {}, async ({ page }) => {
  await page.goto('/dashboard')
  await page.getByLabel('Token', { exact: true }).fill('guess') // before the lockout, which takes only seconds
  const guess = async () => (await service.call('POST', 'session', { token: 'guess' }, {})).status
  // Each lockout is twice as long as the previous one. Wait for one that is long enough to observe.
  await until('a lockout of eight seconds', async () => {
    const { status, headers } = await service.call('POST', 'session', { token: 'guess' }, {})
    assert.ok(status === 401 || status === 429, `status ${status}`)
    return status === 429 && Number(headers.get('retry-after')) > 6
  })
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('too many failed attempts').waitFor()
  assert.equal(await guess(), 429)
  await signIn(page, service.tokens.owner)
  await signedIn(page)
})
