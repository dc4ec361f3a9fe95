// Who gets in, for how long, and how it ends.
import assert from 'node:assert/strict'
import { startBrowser } from './browser.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)

/** Types a token and sends it. */
async function signIn(page, token) {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

const signedIn = (page) => page.getByRole('button', { name: 'Sign out' }).waitFor()
const onSignIn = (page) => page.getByRole('heading', { name: 'Sign in' }).waitFor()

journey(
  'a wrong token is refused, the right one leads to where one wanted to go, and out again',
  {},
  async ({ page }) => {
    await page.goto('/dashboard/models')
    await onSignIn(page)
    assert.equal(await page.title(), 'Sign in · Postern')
    await signIn(page, 'not-it')
    await page.getByRole('alert').getByText('Wrong token').waitFor()
    assert.equal(
      await page.getByLabel('Token', { exact: true }).evaluate((input) => input === document.activeElement),
      true,
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

journey(
  'the session is a cookie that scripts do not see, and the token is kept nowhere',
  {},
  async ({ page, context }) => {
    await page.goto('/dashboard')
    await signIn(page, service.tokens.owner)
    await signedIn(page)
    const [cookie] = await context.cookies(`${service.url}/api/admin/`)
    const { name, httpOnly, secure, sameSite, path } = cookie
    assert.deepEqual(
      { name, httpOnly, secure, sameSite, path },
      { name: 'postern_session', httpOnly: true, secure: true, sameSite: 'Strict', path: '/api/admin' },
    )
    const kept = await page.evaluate(() =>
      JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]),
    )
    assert.equal(kept, '["",{},{}]')
    assert.ok(!page.url().includes(service.tokens.owner))
  },
)

for (const [how, spoil] of [
  ['is gone', () => undefined],
  ['was tampered with', (cookie) => ({ ...cookie, value: cookie.value.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')) })],
]) {
  journey(
    `a session that ${how} leads to the sign-in and back to the work`,
    { as: 'owner' },
    async ({ page, context }) => {
      const project = await service.project({ name: 'Interrupted' })
      await page.goto(`/dashboard/projects/${project.id}/settings`)
      await page.getByLabel('Budget in dollars').waitFor()
      const [cookie] = await context.cookies(`${service.url}/api/admin/`)
      await context.clearCookies()
      const spoilt = spoil(cookie)
      if (spoilt) await context.addCookies([spoilt])
      await page.getByRole('link', { name: 'Keys', exact: true }).click()
      await onSignIn(page)
      await signIn(page, service.tokens.owner)
      await page.getByText('This project has no keys').waitFor()
      assert.equal(new URL(page.url()).pathname, `/dashboard/projects/${project.id}/keys`)
    },
  )
}

journey('what was typed is still there after signing in again', { as: 'owner' }, async ({ page, context }) => {
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
  assert.equal(await save.evaluate((button) => button === document.activeElement), true)
  await save.click()
  await until('it is saved', async () => (await service.get(`projects/${project.id}`)).name === 'Typed for long')

  await page.getByLabel('Name').fill('Given up')
  await context.clearCookies()
  await save.click()
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
  assert.equal(await page.getByText('Typed for long').count(), 0)
})

journey('a sign-out that did not happen is not shown as one', { as: 'owner' }, async ({ page }) => {
  await page.goto('/dashboard/projects')
  await signedIn(page)
  const refuse = (route) =>
    route.fulfill({ status: 429, headers: { 'retry-after': '3' }, json: { error: 'Slow down' } })
  await page.route('**/api/admin/session', refuse)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('.notices').getByText('You are still signed in').waitFor()
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await onSignIn(page)
})

journey('a viewer looks at everything and changes nothing', { as: 'viewer' }, async ({ page }) => {
  const project = await service.project({ name: 'Watched' })
  const key = await service.key(project, { name: 'Theirs' })
  const reason = 'You are signed in as a viewer'
  for (const [path, controls] of [
    ['projects', ['New project']],
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

journey('another owner’s token ends all sessions of the one before', { as: 'owner' }, async ({ page }) => {
  await page.goto('/dashboard/projects')
  await page.getByText(/^\d+ projects?$/).waitFor() // nothing is under way any more
  const before = service.tokens.owner
  await service.rotateOwner()
  await page.getByRole('link', { name: 'Audit log' }).click()
  await onSignIn(page)
  await signIn(page, before)
  await page.getByRole('alert').getByText('Wrong token').waitFor()
  await signIn(page, service.tokens.owner)
  await page.getByRole('heading', { name: 'Audit log' }).waitFor()
})

// The last of the file: from here on this machine is slowed down for a while.
journey('many wrong tokens are slowed down, the right one is not', {}, async ({ page }) => {
  await page.goto('/dashboard')
  const refused = async () => (await service.call('POST', 'session', { token: 'guess' }, {})).status
  // Every lockout is twice as long as the one before: until one is long enough to be seen here.
  await until('a lockout of four seconds', async () => {
    const { status, headers } = await service.call('POST', 'session', { token: 'guess' }, {})
    assert.ok(status === 401 || status === 429, `status ${status}`)
    return status === 429 && Number(headers.get('retry-after')) > 2
  })
  await signIn(page, 'guess')
  await page.getByRole('alert').getByText('too many wrong ones came from your address').waitFor()
  assert.equal(await refused(), 429)
  await signIn(page, service.tokens.owner)
  await signedIn(page)
})
