// The receivers of docs/guides/webhooks.md, run as written, with signed, repeated and forged deliveries.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { eventually, ROOT } from '../../../test/sdk/gateway.mjs'
import { freePort } from '../../../test/serve.mjs'

const page = readFileSync(join(ROOT, 'docs/guides/webhooks.md'), 'utf8')
const of = (kind) => [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].filter((m) => m[1] === kind).map((m) => m[2])
const [PRINTED] = of('').slice(-1)
const [RECEIVER, PLAIN] = of('python')
/** The events that the page shows. Only `fingerprint` is shortened there. */
const [budget, violation] = [of('')[0].split('\n\n')[1], of('json').at(-1)].map((text) => JSON.parse(text))
const full = { ...budget, id: 'evt_100', data: { ...budget.data, thresholdPercent: 100 } }
const EVENTS = [budget, full, violation].map((event) => JSON.stringify(event))
const START_MS = 120_000 // Go compiles the receiver

const folder = mkdtempSync(join(tmpdir(), 'postern-webhooks-'))
after(() => rmSync(folder, { recursive: true }))
const key = randomBytes(24)
const secret = `whsec_${key.toString('base64')}`

/** The headers of a delivery, signed the way the gateway signs it. */
function signed(id, body) {
  const at = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` }
}

/** Runs a receiver on a free port until the test ends, and returns its address and output. */
async function start(t, name, text, command, env = {}) {
  const port = await freePort()
  writeFileSync(join(folder, name), text.replace('8000', port))
  const variables = { ...process.env, POSTERN_WEBHOOK_SECRET: secret, PYTHONUNBUFFERED: '1', GOWORK: 'off', ...env }
  const [program, ...args] = [...command, join(folder, name)]
  const child = spawn(program, args, { cwd: folder, env: variables, detached: true })
  const printed = { text: '', errors: '' }
  child.stdout.on('data', (data) => (printed.text += data))
  child.stderr.on('data', (data) => (printed.errors += data))
  t.after(() => child.exitCode === null && process.kill(-child.pid)) // including the program that `go run` started
  for (const end = Date.now() + START_MS; ; await sleep(50)) {
    if (child.exitCode !== null || Date.now() > end) assert.fail(`${name}: ${printed.errors}`)
    const listens = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '{}' }).catch(() => false)
    if (listens) return { url: `http://127.0.0.1:${port}`, printed }
  }
}

const RECEIVERS = {
  'receiver.mts': [of('ts')[0], [process.execPath, '--experimental-strip-types', '--no-warnings']],
  'receiver.py': [RECEIVER, ['python3'], { PYTHONPATH: join(ROOT, 'clients/python/src') }],
  'receiver.go': [of('go')[0], ['go', 'run', '-mod=mod']],
}
mkdirSync(join(folder, 'node_modules/@postern-ai'), { recursive: true })
symlinkSync(join(ROOT, 'clients/ts'), join(folder, 'node_modules/@postern-ai/client'))
const module = 'github.com/postern-ai/postern/clients/go'
const version = /^go .*$/m.exec(readFileSync(join(ROOT, 'clients/go/go.mod'), 'utf8'))[0]
writeFileSync(
  join(folder, 'go.mod'),
  `module receiver\n${version}\nrequire ${module} v0.0.0\nreplace ${module} => ${join(ROOT, 'clients/go')}\n`,
)

for (const [name, [text, command, env]] of Object.entries(RECEIVERS)) {
  test(`${name} takes each event once, and no forged one`, async (t) => {
    const { url, printed } = await start(t, name, text, command, env)
    const post = async (headers, body) => (await fetch(url, { method: 'POST', headers, body })).status
    for (const body of EVENTS) {
      const headers = signed(JSON.parse(body).id, body)
      assert.equal(await post(headers, body), 204)
      assert.equal(await post(headers, body), 204) // repeated
      assert.equal(await post(headers, `${body} `), 400)
    }
    assert.equal(await post({}, EVENTS[0]), 400)
    const large = 'x'.repeat((1 << 20) + 1)
    assert.ok([400, 413].includes(await post(signed('evt_large', large), large).catch(() => 413))) // or the connection ends
    // The output may arrive after the responses. The comparison shows it if it is incomplete.
    await eventually(() => printed.text.length >= PRINTED.length).catch(() => undefined)
    assert.equal(printed.text, PRINTED)
  })
}

test('the function without a client library', async () => {
  const [event] = EVENTS
  const call = `
import json, sys
headers, secret, body = json.load(sys.stdin)
print(verified(body.encode(), headers, secret), verified(body.encode() + b" ", headers, secret))
headers["webhook-timestamp"] = "1795802264"
print(verified(body.encode(), headers, secret))
`
  writeFileSync(join(folder, 'plain.py'), PLAIN + call)
  const running = promisify(execFile)('python3', [join(folder, 'plain.py')])
  running.child.stdin.end(JSON.stringify([signed('evt_1', event), secret, event]))
  assert.equal((await running).stdout, 'True False\nFalse\n')
})
