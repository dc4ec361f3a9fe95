// Checks which files reach the gateway as URLs, and which ones the AI SDK downloads first.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { createPostern } from '@postern-ai/ai-sdk'
import { generateText, streamText, wrapLanguageModel } from 'ai'
import { COMPLETE, streaming } from '../../../test/clients/cut.mjs'
import { picture } from '../../../test/sdk/gateway.mjs'

globalThis.AI_SDK_LOG_WARNINGS = false
const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }]
const FILES = { '/a.png': ['image/png', Buffer.from(picture, 'base64')], '/a.pdf': ['application/pdf', '%PDF-'] }
FILES['/a.txt'] = ['text/plain', 'A text.']
FILES['/a.wav'] = ['audio/wav', 'RIFF']

const downloads = []
const files = createServer((request, response) => {
  downloads.push(request.url)
  const [type, body] = FILES[request.url]
  response.writeHead(200, { 'content-type': type }).end(body)
})
files.listen(0, '127.0.0.1')
await once(files, 'listening')
after(() => {
  files.closeAllConnections()
  files.close()
})
const local = `http://127.0.0.1:${files.address().port}`

// Replaces the AI SDK's own download function, because that one refuses addresses of this machine. It receives the
// same requests.
const download = (requests) =>
  Promise.all(
    requests.map(async ({ url, isUrlSupportedByModel }) => {
      if (isUrlSupportedByModel) return null
      const response = await fetch(new URL(url.pathname, local))
      return { data: new Uint8Array(await response.arrayBuffer()), mediaType: response.headers.get('content-type') }
    }),
  )

/** Sends a part of a message. Returns the part that the gateway receives, and what the AI SDK downloaded. */
async function sent(part, wrap = (model) => model) {
  let body
  const answer = async (_, init) => {
    body = JSON.parse(init.body)
    return Response.json({ id: 'c', created: 1, model: 'm', choices, usage: {} })
  }
  const postern = createPostern({ apiKey: 'sk_test_a', baseURL: 'http://gateway.test', fetch: answer })
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, part] }]
  const before = downloads.length
  await generateText({ model: wrap(postern('m')), messages, maxRetries: 0, experimental_download: download })
  return { part: body.messages[0].content[1], downloaded: downloads.slice(before) }
}

test('the address of an image by https is passed on', async () => {
  for (const [part, url] of [
    [{ type: 'image', image: new URL('https://files.example/a.png') }, 'https://files.example/a.png'],
    [
      { type: 'image', image: 'https://files.example/A.PNG?x=1', mediaType: 'image/png' },
      'https://files.example/A.PNG?x=1',
    ],
    [{ type: 'file', data: new URL('HTTPS://files.example/a'), mediaType: 'image/webp' }, 'https://files.example/a'],
    [{ type: 'file', data: 'https://files.example/a.gif', mediaType: 'image/*' }, 'https://files.example/a.gif'],
  ]) {
    assert.deepEqual(await sent(part), { part: { type: 'image_url', image_url: { url } }, downloaded: [] })
  }
})

test('anything else is downloaded, and arrives as data', async () => {
  const data = (type, bytes) => `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
  for (const [path, part, expected] of [
    [
      '/a.png',
      { type: 'image', image: new URL(`${local}/a.png`) },
      { image_url: { url: `data:image/png;base64,${picture}` } },
    ],
    [
      '/a.pdf',
      { type: 'file', data: new URL('https://files.example/a.pdf'), mediaType: 'application/pdf', filename: 'a.pdf' },
      { file: { filename: 'a.pdf', file_data: data('application/pdf', '%PDF-') } },
    ],
    [
      '/a.wav',
      { type: 'file', data: new URL('https://files.example/a.wav'), mediaType: 'audio/wav' },
      { input_audio: { data: Buffer.from('RIFF').toString('base64'), format: 'wav' } },
    ],
    [
      '/a.txt',
      { type: 'file', data: new URL('https://files.example/a.txt'), mediaType: 'text/plain' },
      { text: 'A text.' },
    ],
  ]) {
    const { part: arrived, downloaded } = await sent(part)
    const { type: _, ...content } = arrived
    assert.deepEqual([content, downloaded], [expected, [path]])
  }
})

test('bytes and data URLs arrive as data, without a download', async () => {
  const url = `data:image/png;base64,${picture}`
  for (const image of [Buffer.from(picture, 'base64'), picture, url]) {
    const arrived = await sent({ type: 'image', image, mediaType: 'image/png' })
    assert.deepEqual(arrived, { part: { type: 'image_url', image_url: { url } }, downloaded: [] })
  }
})

test('overrideSupportedUrls makes the AI SDK download images, for targets that take no addresses', async () => {
  const middleware = { specificationVersion: 'v3', overrideSupportedUrls: () => ({}) }
  const part = { type: 'image', image: new URL('https://files.example/a.png') }
  const { part: arrived, downloaded } = await sent(part, (model) => wrapLanguageModel({ model, middleware }))
  assert.deepEqual(arrived.image_url, { url: `data:image/png;base64,${picture}` })
  assert.deepEqual(downloaded, ['/a.png'])
})

test('a stream passes addresses on, too', async (t) => {
  let body
  const baseURL = await streaming(t, COMPLETE)
  const spy = (url, init) => {
    body = JSON.parse(init.body)
    return fetch(url, init)
  }
  const model = createPostern({ apiKey: 'sk_test_a', baseURL, fetch: spy })('m')
  const image = { type: 'image', image: new URL('https://files.example/a.png') }
  await streamText({ model, messages: [{ role: 'user', content: [image] }] }).consumeStream()
  assert.equal(body.messages[0].content[0].image_url.url, 'https://files.example/a.png')
})
