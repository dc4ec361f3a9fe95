// The commands in documents that need `postern serve`: the quickstart, keys, local models, backups.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { ADDRESS, block, sameCompletion, shell } from '../sdk/blocks.mjs'
import { eventually, ROOT } from '../sdk/gateway.mjs'
import { startServe } from '../serve.mjs'

const QUICKSTART = 'docs/start/quickstart-selfhosted.md'
const MODELS = 'docs/start/local-models.md'
const CONNECT = 'docs/start/connect.md'
const BACKUP = 'docs/operate/backup.md'
const folder = mkdtempSync(join(tmpdir(), 'postern-quickstart-'))
const data = join(folder, 'postern-data')

/** Replaces Ollama: a server without authentication that returns the response shown on docs.ollama.com/openai. */
const requests = []
const ollama = createServer(async (request, response) => {
  requests.push({ url: request.url, key: request.headers.authorization })
  const { model } = await json(request)
  const message = { role: 'assistant', content: `I am ${model}.` }
  response.setHeader('content-type', 'application/json')
  response.end(
    JSON.stringify({
      ...{
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model,
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      },
      usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
    }),
  )
}).listen(0, '127.0.0.1')
await once(ollama, 'listening')

const server = await startServe(data, { OLLAMA_BASE_URL: `http://127.0.0.1:${ollama.address().port}/v1` })
mkdirSync(join(folder, 'build'))
copyFileSync(join(ROOT, 'build/test/postern'), join(folder, 'build/postern'))
after(async () => {
  await server.stop()
  ollama.close()
  rmSync(folder, { recursive: true })
})

/** Runs a block in the folder that a reader would be in, where build/postern is also the installed `postern`. */
function follow(document, containing, change = (text) => text) {
  const env = { POSTERN_BASE_URL: server.url, POSTERN_DATA: data, PATH: `${join(folder, 'build')}:${process.env.PATH}` }
  return shell(change(block(document, 'sh', containing).replaceAll(ADDRESS, server.url)), env, folder)
}

/** An output without IDs, which differ from run to run. */
const withoutIds = (text) => text.replaceAll(/(proj|key)_[0-9a-f]{32}/g, '$1_')

test('the quickstart prints what it shows', async () => {
  const started = block(QUICKSTART, 'text', 'Dashboard:').replaceAll(ADDRESS, server.url).replace('postern-data', data)
  await eventually(() => server.output.join('').includes(started))
  const created = await follow(QUICKSTART, 'projects create')
  assert.equal(withoutIds(created), withoutIds(block(QUICKSTART, 'text', 'Created project')))
  const response = await follow(QUICKSTART, '$(cat laptop.key)')
  sameCompletion(JSON.parse(response), JSON.parse(block(QUICKSTART, 'json', 'chat.completion')))
})

test('a local model responds', async () => {
  const output = await follow(MODELS, '--out local.key')
  const { model, choices } = JSON.parse(output.split('\n').at(-1))
  assert.deepEqual([model, choices[0].message.content], ['llama3.2', 'I am llama3.2.'])
  assert.deepEqual(requests, [{ url: '/v1/chat/completions', key: undefined }])
})

test('keys are created, rotated and deactivated', async () => {
  assert.match(await follow(CONNECT, 'keys rotate'), /Created key Backend .*sk_live_.*sk_live_.*is inactive/s)
})

test('a backup is restored with its secrets', async () => {
  for (const name of ['backup', 'vault']) mkdirSync(join(folder, name))
  const inFolder = (text) =>
    text
      .replaceAll('/var/lib/postern-restored', join(folder, 'restored'))
      .replaceAll('/var/lib/postern', data)
      .replaceAll(/ \/(backup|vault)\//g, ` ${folder}/$1/`)
      .replace(/postern-\d{4}-\d\d-\d\d/, 'postern-first')
  assert.match(await follow(BACKUP, 'postern backup /backup/postern-first', inFolder), /^Copied /)
  assert.match(await follow(BACKUP, 'date +%F', inFolder), /^Copied /)
  assert.match(await follow(BACKUP, 'postern restore', inFolder), /^Restored /)
  const secrets = (name) => readFileSync(join(name, 'secrets.json'), 'utf8')
  assert.equal(secrets(join(folder, 'restored')), secrets(data))
})
