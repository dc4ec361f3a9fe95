// `make dev` with wrangler: persistent keys, restarts of workerd, the log and the shutdown.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isAlive } from '../../tools/dev/processes.mjs'
import { until } from '../browser/service.mjs'
import { freePort } from '../serve.mjs'
import { Checkout } from './checkout.mjs'

const checkout = new Checkout()
// No server listens there, so requests with a production key fail.
const env = { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1', OPENAI_API_KEY: 'sk-upstream' }
let dev
let last
after(() => dev?.stop('SIGTERM'))

async function health({ baseUrl }, key) {
  const response = await fetch(`${baseUrl}/api/health`, { headers: { 'x-api-key': key } })
  return { status: response.status, project: (await response.json()).project_id }
}

async function assertWorks(keys) {
  for (const key of [keys.gatewayKey, keys.projectKey]) {
    assert.deepEqual(await health(keys, key), { status: 200, project: keys.projectId })
  }
  await admin(keys, 'GET', '')
}

async function admin({ baseUrl, projectId, adminToken }, method, path, body) {
  const response = await fetch(`${baseUrl}/api/admin/projects/${projectId}${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  assert.ok(response.ok, `${method} ${path}: ${response.status}`)
  return response.json()
}

async function ask({ baseUrl }, key) {
  const response = await fetch(`${baseUrl}/api/ai/complete`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: '{"messages":[{"role":"user","content":"Hello!"}]}',
  })
  await response.text()
  return { status: response.status, id: response.headers.get('x-request-id') }
}

test('keys.json exists only once the keys work', async () => {
  checkout.write('.dev/keys.json', '{"baseUrl":"http://127.0.0.1:1"}')
  checkout.hold()
  dev = await checkout.start({ env })
  await checkout.held()
  assert.ok(!checkout.has('.dev/keys.json'), 'while starting')
  checkout.release()
  const keys = await dev.ready()
  assert.equal(keys.baseUrl, `http://127.0.0.1:${dev.port}`)
  await assertWorks(keys)
  assert.equal(readFileSync(checkout.path('.dev/gateway-key'), 'utf8'), `${keys.gatewayKey}\n`)
  for (const file of ['keys.json', 'gateway-key', 'secrets.json']) {
    assert.equal(statSync(checkout.path(`.dev/${file}`)).mode & 0o777, 0o600, file)
  }
})

test('the printed requests work when pasted', () => {
  const commands = dev.output.match(/^ {2}curl .*$/gm)
  assert.equal(commands.length, 2)
  const [reply, usage] = commands.map((command) => {
    const { stdout } = spawnSync('sh', ['-c', command.replace('curl', 'curl -sS')], { encoding: 'utf8' })
    return JSON.parse(stdout)
  })
  assert.match(reply.choices[0].message.content, /You said: Hello!$/)
  assert.equal(typeof usage.budget.used, 'number')
})

test('log lines are printed as the Worker wrote them', async () => {
  const keys = checkout.keys()
  const { value } = await admin(keys, 'POST', '/keys', { name: 'Backend' })
  const answers = [await ask(keys, keys.gatewayKey), await ask(keys, value)]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 502],
  )
  for (const { status, id } of answers) {
    await dev.prints(`"${id}"`)
    const line = await until('a complete line', () => /^.*$/m.exec(dev.output.slice(lineStart(dev.output, id)))?.[0])
    assert.equal(JSON.parse(line).status, status)
  }
  assert.doesNotMatch(dev.output, /\[undefined\]/)
})

const key = (of = checkout) => spawnSync(process.execPath, [of.path('tools/dev/key.mjs')], { encoding: 'utf8' })

test('make key prints a production key, which calls real providers', async () => {
  const { status, stdout, stderr } = key()
  assert.equal(status, 0)
  assert.equal(stderr, '')
  assert.match(stdout, /^sk_live_\w+\n$/)
  assert.equal((await ask(checkout.keys(), stdout.trim())).status, 502)
})

const lineStart = (text, part) => text.lastIndexOf('\n', text.indexOf(`"${part}"`)) + 1

test('after both workerd processes are killed it restarts with the same keys', async () => {
  const keys = checkout.keys()
  const runtimes = dev.processes().filter(({ command }) => command.includes('workerd serve'))
  assert.equal(runtimes.length, 2)
  checkout.hold()
  for (const { pid } of runtimes) process.kill(pid, 'SIGKILL')
  await dev.prints('dev: workerd exited; restarting (1 of 3)')
  await checkout.held()
  for (const file of ['keys.json', 'gateway-key']) assert.ok(!checkout.has(`.dev/${file}`), `${file} while restarting`)
  checkout.release()
  assert.deepEqual(await dev.ready(2), keys)
  await assertWorks(keys)
})

test('a second `make dev` fails and does not change the files of the first', async () => {
  const keys = checkout.keys()
  for (const port of [dev.port, await freePort()]) {
    const { code, errors } = await (await checkout.start({ port })).ended
    assert.equal(code, 1)
    assert.match(errors, /make dev already runs in this folder/)
  }
  const elsewhere = await (await new Checkout({ wrangler: '// not started' }).start({ port: dev.port })).ended
  assert.equal(elsewhere.code, 1)
  assert.match(elsewhere.errors, /port \d+ is in use/)
  assert.deepEqual(checkout.keys(), keys)
  await assertWorks(keys)
})

test('SIGTERM ends all processes and keeps only the files that the next start needs', async () => {
  last = checkout.keys()
  const family = dev.processes()
  assert.ok(family.length >= 3, 'wrangler and its workerd processes')
  assert.equal((await dev.stop('SIGTERM')).code, 0)
  await until('all processes have ended', () => !family.some(({ pid }) => isAlive(pid)))
  for (const file of ['keys.json', 'gateway-key', 'gateway.env', 'pid', '../worker/control/.dev.vars']) {
    assert.ok(!checkout.has(join('.dev', file)), file)
  }
  assert.ok(checkout.has('.dev/secrets.json'))
  const { status, stderr } = key()
  assert.equal(status, 1)
  assert.match(stderr, /Start it with `make dev`/)
})

test('the next start has the same keys, also on another port, and replaces a deactivated key', async () => {
  dev = await checkout.start()
  const keys = await dev.ready()
  assert.deepEqual(keys, { ...last, baseUrl: `http://127.0.0.1:${dev.port}` })
  assert.notEqual(keys.baseUrl, last.baseUrl)
  await assertWorks(keys)

  const list = (await admin(keys, 'GET', '/keys?limit=100')).keys
  const { id } = list.find(({ name }) => name === 'Demo gateway key')
  await admin(keys, 'POST', `/keys/${id}/deactivate`)
  await dev.stop('SIGHUP')
  dev = await checkout.start({ port: dev.port })
  const next = await dev.ready()
  await assertWorks(next)
  assert.deepEqual({ ...next, gatewayKey: keys.gatewayKey }, keys)
  assert.equal((await health(next, keys.gatewayKey)).status, 401)
})

test('after the state is deleted: new keys, the same token', async () => {
  const keys = checkout.keys()
  await dev.stop('SIGINT')
  checkout.remove('.wrangler')
  dev = await checkout.start()
  const next = await dev.ready()
  assert.equal(next.adminToken, keys.adminToken)
  assert.notEqual(next.gatewayKey, keys.gatewayKey)
  await assertWorks(next)
})

test('a start with invalid or missing configuration names the problem', async () => {
  const other = new Checkout()
  const invalid = await other.start({ env: { POSTERN_CATALOG: '{"models":' } })
  const { code, errors } = await invalid.ended
  assert.equal(code, 1)
  assert.match(errors, /^dev: the configuration is invalid: POSTERN_CATALOG must be valid JSON.*\n$/)
  const warned = await other.start({ env: { POSTERN_VIEWER_TOKEN: 'short' } })
  await warned.ready()
  assert.match(
    (await warned.stop('SIGTERM')).errors,
    /^dev: warning: POSTERN_VIEWER_TOKEN is ignored: it has 5 bytes and needs at least 16\n$/m,
  )
  const plain = await other.start()
  await plain.ready()
  const { status, stdout, stderr } = key(other)
  assert.equal(status, 0)
  assert.match(stdout, /^sk_live_/)
  assert.match(stderr, /no provider has credentials yet.*\n.*OPENAI_API_KEY/)
  await plain.stop('SIGTERM')
  const webhooks = await other.start({ env: { POSTERN_PRIVATE_WEBHOOKS: 'yes' } })
  assert.match((await webhooks.ended).errors, /^dev: the configuration is invalid: POSTERN_PRIVATE_WEBHOOKS/)
})

test('make key without a running gateway names the address', () => {
  checkout.write('.dev/keys.json', '{"baseUrl":"http://127.0.0.1:1","projectId":"p","adminToken":"t"}')
  const { status, stderr } = key()
  assert.equal(status, 1)
  assert.match(stderr, /^key: nothing listens on http:\/\/127\.0\.0\.1:1\./)
})
