import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventParser, eventsOf } from '../src/sse.js'

const STREAM = [
  ': a comment\n',
  'data: {"type":"delta","text":"Hällo 👋"}\n\n',
  'event: note\r\ndata: one\r\ndata:two\r\ndata\r\n\r\n',
  'id: 7\rdata:  kept space\r\r',
  '\n\n', // an empty event, which is ignored
  'data: [DONE]\n\n',
  'data: cut off',
].join('')
const WANT = [
  { event: 'message', data: '{"type":"delta","text":"Hällo 👋"}' },
  { event: 'note', data: 'one\ntwo\n' },
  { event: 'message', data: ' kept space' },
  { event: 'message', data: '[DONE]' },
]

test('a stream in one chunk', () => {
  assert.deepEqual(new EventParser().push(STREAM), WANT)
})

test('a stream split at every position, and into single characters', () => {
  for (let i = 0; i <= STREAM.length; i++) {
    const parser = new EventParser()
    assert.deepEqual([...parser.push(STREAM.slice(0, i)), ...parser.push(STREAM.slice(i))], WANT, `cut at ${i}`)
  }
  const parser = new EventParser()
  assert.deepEqual(
    [...STREAM].flatMap((character) => parser.push(character)),
    WANT,
  )
})

test('a stream split within UTF-8 characters', async () => {
  const bytes = new TextEncoder().encode(STREAM)
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
      controller.close()
    },
  })
  const events = []
  for await (const event of eventsOf(new Response(body))) events.push(event)
  assert.deepEqual(events, WANT)
})
