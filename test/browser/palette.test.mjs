// "Find anything", in a deployment with 200 projects and 2,000 keys.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { NARROW, startBrowser } from './browser.mjs'
import { crowd, keyName, last4, projectName } from './crowd.mjs'
import { startService, until } from './service.mjs'

const service = await startService()
const { journey } = await startBrowser(service)
const guarded = await service.project({ name: 'Guarded assistant', plan: 'guarded' })
const other = await service.project({ name: 'Quiet batch' })
const found = await violationAndRequest()
await crowd(service) // the crowd is newer, and lists show new projects last

/** A violation of one project, and a request of another. */
async function violationAndRequest() {
  const key = await service.key(guarded)
  await service.admin('PUT', `projects/${guarded.id}/governor`, { enabled: true, rules: {} })
  const messages = [{ role: 'user', content: 'Charge 4111 1111 1111 1111' }]
  await service.complete(key.value, { quality: 'cheap', messages })
  const violations = async () => (await service.get(`projects/${guarded.id}/violations`)).violations
  await until('the violation is listed', async () => (await violations()).length === 1)
  const { headers } = await service.complete((await service.key(other)).value, { quality: 'cheap' })
  return { violation: (await violations())[0].id, request: headers.get('x-request-id') }
}

const field = (page) => page.getByRole('combobox', { name: 'Find' })
const results = (page) => page.getByRole('listbox', { name: 'Results' })
const option = (page, name) => results(page).getByRole('option', { name })
const inProject = (project, rest = '') => `/dashboard/projects/${project.id}${rest}`

/** Opens the palette on a page. */
async function open(page, path = '/dashboard') {
  await page.goto(path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Find' }).click()
  await field(page).waitFor()
}

/** Waits until a navigation has ended. Before that, it could close a palette that is opened. */
const arrived = (page) =>
  until('the heading has the focus', () => page.evaluate(() => document.activeElement.tagName === 'H1'))

/** The text of the option that Enter would choose. */
const active = (page) => results(page).getByRole('option', { selected: true }).textContent()

journey(
  'by keyboard only: a key with a long name among 2,000 is found and opened',
  { as: 'owner' },
  async ({ page }) => {
    await page.goto('/dashboard/models')
    await page.getByRole('heading', { name: 'Models and prices' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).waitFor() // the page listens to the keyboard after its first render
    await page.getByRole('button', { name: 'Find' }).focus()
    await page.keyboard.press('Control+k')
    await until('the field has the focus', () => field(page).evaluate((input) => input === document.activeElement))
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim().slice(0, 4)), 'Find')
    await page.keyboard.press('Control+k')
    await field(page).waitFor()
    await page.keyboard.type('key 137.4 ')
    await option(page, keyName(137, 4)).waitFor()
    await until('the key is active', async () => (await active(page)).includes(keyName(137, 4)))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: `Key ${keyName(137, 4)}` }).waitFor()
    await page.getByText(projectName(137)).first().waitFor()
    await arrived(page)
  },
)

journey('arrows move through all groups, and the list shows more on demand', { as: 'owner' }, async ({ page }) => {
  await open(page)
  await field(page).fill('oslo')
  await option(page, projectName(2)).waitFor()
  const first = await active(page)
  await page.keyboard.press('ArrowDown')
  assert.notEqual(await active(page), first)
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  assert.match(await active(page), /^Show more projects/)
  const before = await results(page).getByRole('option').count()
  await page.keyboard.press('Enter')
  await until('more projects are shown', async () => (await results(page).getByRole('option').count()) > before + 10)
  await field(page).fill('Key 19.')
  const keys = page.getByRole('group', { name: 'Keys' }).getByRole('option')
  await option(page, keyName(19, 5)).waitFor()
  assert.equal(await keys.count(), 7, 'six keys and the option for more')
  await option(page, 'Show more keys').click()
  await until('all ten keys are shown', async () => (await keys.count()) === 10)
})

journey('last four characters, IDs, models, pages and actions are found', { as: 'owner' }, async ({ page }) => {
  await open(page, inProject(other))
  for (const text of [last4(42, 7), `sk_live_…${last4(42, 7)}`, `sk_live_...${last4(42, 7).toUpperCase()}`]) {
    await field(page).fill('no such thing') // because the key of the text before is still shown
    await page.getByText('Nothing found in projects, groups, keys, models, pages and actions.').waitFor()
    await field(page).fill(text)
    await option(page, keyName(42, 7)).waitFor()
    assert.equal(await results(page).getByRole('option').count(), 1, text)
  }
  await field(page).fill(other.id)
  await option(page, 'Quiet batch').waitFor()
  await field(page).fill('proj_nobody')
  await page.getByText('No project of this deployment has this ID.').waitFor()
  await field(page).fill('no such thing')
  await page.getByText('Nothing found in projects, groups, keys, models, pages and actions.').waitFor()
  await field(page).fill('dark')
  await option(page, 'Use the dark theme').click()
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
  for (const [text, name, heading] of [
    ['new key', 'New key', 'New key'],
    ['audit', 'Audit log', 'Audit log'],
    ['new proj', 'New project', 'New project'],
    ['groat', 'groat', 'Models and prices'],
  ]) {
    await page.keyboard.press('Control+k')
    await field(page).fill(text)
    await option(page, name).first().click()
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    await arrived(page)
  }
  assert.equal(new URL(page.url()).search, '?q=groat')
  await page.keyboard.press('Control+k')
  await field(page).fill('sign out')
  await option(page, 'Sign out').click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
})

/** Everything that a page has sent or stored: URLs, headers and bodies of requests, storage, and history. */
function recordSent(visit) {
  const sent = []
  visit.context.on('request', (request) => {
    sent.push(request.url(), request.postData() ?? '', JSON.stringify(request.headers()))
  })
  return async () => {
    const kept = await visit.page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href]),
    )
    return [...sent, kept].join('\n')
  }
}

const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] }

journey('a leaked key: pasted, found, revoked, and never sent', { as: 'owner', ...CLIPBOARD }, async (visit) => {
  const { page } = visit
  const key = await service.key(other, { name: 'Leaked one' })
  assert.equal((await service.complete(key.value, { quality: 'cheap' })).status, 200)
  await page.addInitScript(() => Object.defineProperty(crypto, 'subtle', { value: undefined })) // as over plain HTTP
  const everythingSent = recordSent(visit)
  await open(page)
  await page.evaluate((text) => navigator.clipboard.writeText(text), `Authorization: Bearer ${key.value}\n`)
  await page.keyboard.press('Control+v')
  const region = page.getByRole('region', { name: 'Found key' })
  await region.getByText('Leaked one').waitFor()
  await region.getByText('Quiet batch').waitFor()
  await region.getByText('nickel').waitFor() // its request
  assert.equal(await field(page).inputValue(), `${key.prefix}…${key.last4}`)
  assert.match(await active(page), /^Deactivate this key now/)
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Deactivate this key?' })
  await dialog.getByRole('button', { name: 'Deactivate' }).click()
  await region.getByText(/Deactivated at .* Requests with this key are rejected with 401 from now on/).waitFor()
  await region.getByText('inactive').waitFor()
  assert.equal((await service.complete(key.value, { quality: 'cheap' })).status, 401)
  await option(page, 'Rotate: create a key in its place').click()
  await page.getByText('The old key stays deactivated.').waitFor()
  await page.getByRole('button', { name: 'Rotate' }).click()
  const fresh = page.getByRole('group', { name: 'New API key “Leaked one”' })
  const value = await fresh.locator('code').textContent()
  await page.getByRole('link', { name: 'saved this key' }).click()
  await page.getByRole('heading', { name: 'Key Leaked one' }).waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.equal((await service.complete(value, { quality: 'cheap' })).status, 200)
  assert.equal((await service.complete(key.value, { quality: 'cheap' })).status, 401)
  const sent = await everythingSent()
  assert.ok(sent.includes(createHash('sha256').update(key.value).digest('hex')), 'the hash is sent')
  for (const part of [key.value, key.value.slice(8, 30)]) assert.ok(!sent.includes(part), 'the key was sent or kept')
  await visit.checkAbsent(key.value, 'the key')
  assert.ok(!service.log().includes(key.value.slice(8, 30)), 'the key is in the log')
})

journey(
  'a typed key is hashed at once; parts of keys and other secrets are not sent',
  { as: 'owner' },
  async (visit) => {
    const { page } = visit
    const key = await service.key(other, { name: 'Typed one' })
    const everythingSent = recordSent(visit)
    await open(page)
    await field(page).pressSequentially(key.value)
    await page.getByRole('region', { name: 'Found key' }).getByText('Typed one').waitFor()
    assert.equal(await field(page).inputValue(), `${key.prefix}…${key.last4}`)
    for (const text of [key.value.slice(0, -1), 'sk-proj-0123456789abcdef', `${key.value}0`]) {
      await field(page).fill(text)
      await page.getByText('The dashboard does not send it.').waitFor()
      assert.equal(await results(page).getByRole('option').count(), 0)
    }
    await field(page).fill(`sk_live_${'0'.repeat(29)}`)
    await page.getByText('No key of this deployment has this value').waitFor()
    const sent = await everythingSent()
    for (const part of [key.value.slice(8, 20), 'sk-proj']) assert.ok(!sent.includes(part), `${part} was sent`)
  },
)

journey('a viewer sees a leaked key and cannot revoke it', { as: 'viewer' }, async ({ page }) => {
  const key = await service.key(other, { name: 'Seen by viewers' })
  await open(page)
  await field(page).fill(key.value)
  await page.getByRole('region', { name: 'Found key' }).getByText('Seen by viewers').waitFor()
  await page.getByRole('status').getByText('Viewers cannot make changes').waitFor()
  assert.equal(await option(page, /Deactivate|Rotate/).count(), 0)
  await field(page).fill('new')
  await page.getByText(/Looking|result|Nothing/).waitFor()
  assert.equal(await option(page, /^New/).count(), 0)
})

journey('the key’s page revokes a leaked key, too', { as: 'owner' }, async ({ page }) => {
  const key = await service.key(other, { name: 'Page one' })
  await service.complete(key.value, { quality: 'cheap' })
  await page.goto(inProject(other, `/keys/${key.id}`))
  const card = page.getByRole('region', { name: 'If this key leaked' })
  await card.getByText('nickel').waitFor()
  await card.getByRole('button', { name: 'Revoke now' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
  await card.getByText(/Deactivated at/).waitFor()
  assert.equal((await service.complete(key.value, { quality: 'cheap' })).status, 401)
})

journey('violations are looked for in the project in view, and requests in all', { as: 'owner' }, async ({ page }) => {
  await open(page, inProject(guarded))
  await field(page).fill(found.violation)
  await option(page, found.violation).waitFor()
  await field(page).fill(found.request)
  await option(page, `${found.request} in Quiet batch`).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Request', exact: true }).waitFor()
  assert.equal(new URL(page.url()).pathname, inProject(other, `/requests/${found.request}`))
})

journey('a search that fails says so, and the next one works', { as: 'owner' }, async (visit) => {
  const { page } = visit
  visit.expected.push(/Failed to load resource/)
  await open(page)
  await page.route('**/api/admin/keys?*', (route) => route.abort())
  await field(page).fill('Key 7.')
  await page.getByText('Keys: Could not reach the server').waitFor()
  await page.unroute('**/api/admin/keys?*')
  await field(page).fill('Key 7.3')
  await option(page, keyName(7, 3)).waitFor()
  assert.equal(await page.getByText('Could not reach').count(), 0)
})

journey(
  'on a phone the palette fits, and its button is visible',
  { as: 'owner', viewport: NARROW },
  async ({ page }) => {
    await open(page, inProject(other))
    await field(page).fill('Key 55.')
    await option(page, keyName(55, 0)).waitFor()
    const overflow = () =>
      page.evaluate(() => document.querySelector('dialog').scrollWidth - document.querySelector('dialog').clientWidth)
    assert.equal(await overflow(), 0)
    await option(page, keyName(55, 0)).click()
    await page.getByRole('heading', { name: `Key ${keyName(55, 0)}` }).waitFor()
  },
)
