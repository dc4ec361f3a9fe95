// Tests src/object.ts with a stub reducer, storage and platform.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { NO_BYTES, POSTS_AT_ONCE, Reader } from '../src/abi.ts'
import { clock } from '../src/clock.ts'
import { StoredObject } from '../src/object.ts'

const OUTPUT = { ranges: [], puts: [], deletes: [], reply: NO_BYTES, alarmMs: 0, deliver: false, posts: [] }
const text = (bytes) => new TextDecoder().decode(bytes)
const bytes = (value) => new TextEncoder().encode(value)
const turn = () => new Promise((resolve) => setTimeout(resolve, 1))
const URL_WITH_SECRET = 'https://hooks.example/secret-path'

let logged
beforeEach(() => {
  clock.now = () => 1000
  logged = ''
  console.error = (line) => {
    logged += line
  }
})

const post = (id) => ({ id, url: URL_WITH_SECRET, headers: ['x-a', 'secret-value'], body: bytes(`body ${id}`) })

// Decodes a Posted command to [id, status]. Returns undefined for any other command.
function posted(command) {
  if (command[0] !== 0x7f) return undefined
  const r = new Reader().open(command, 1, command.length - 1)
  const result = [r.text(), r.uint()]
  r.end()
  return result
}

// Returns an object whose reducer is apply(command), which returns a partial output. events records writes, alarms
// and posts.
function withReducer(apply) {
  const events = []
  const rows = new Map()
  const waiting = []
  const engine = {
    start: () => ({ error: '' }),
    reads: () => OUTPUT,
    apply: ({ command }) => ({ ...OUTPUT, ...apply(command) }),
  }
  const respond = [] // for each post, a function that resolves it with a status
  const platform = {
    storage: {
      kv: {
        get: (key) => rows.get(key),
        list: () => [],
        put: (key, value) => {
          events.push(`put ${key} ${text(value)}`)
          rows.set(key, value)
        },
        delete: (key) => rows.delete(key),
      },
      transactionSync: (body) => body(),
    },
    alarm: { atLatest: (ms) => events.push(`alarm ${ms}`), rang: () => events.push('rang') },
    deliver: () => Promise.resolve(),
    post: ({ id, body }) => {
      events.push(`post ${id}: ${text(body)}`)
      return new Promise((resolve) => respond.push(resolve))
    },
    waitUntil: (promise) => waiting.push(promise),
  }
  const object = new StoredObject({ engine }, {}, 2, 'proj_1', platform)
  return { object, events, rows, respond, waiting }
}

test('a post is sent after the commit and the reply, and its status is reported to the object', async () => {
  const { object, events, respond, waiting } = withReducer((command) => {
    const result = posted(command)
    if (result !== undefined) return { puts: [{ key: 'result', value: bytes(result.join(' ')) }] }
    return { puts: [{ key: 'row', value: bytes('1') }], reply: bytes('reply'), alarmMs: 5000, posts: [post('a')] }
  })
  assert.equal(text(object.call(bytes('go'))), 'reply')
  assert.deepEqual(events, ['put row 1', 'alarm 5000'])
  await turn()
  assert.deepEqual(events.slice(2), ['post a: body a'])
  respond[0](204)
  await Promise.all(waiting)
  assert.deepEqual(events.slice(3), ['put result a 204'])
  assert.equal(waiting.length, 1)
})

test('a post without a response is reported with status 0', async () => {
  const results = []
  const { object, respond, waiting } = withReducer((command) => {
    if (posted(command) === undefined) return { posts: [post('a')] }
    results.push(posted(command))
    return {}
  })
  object.call(bytes('go'))
  await turn()
  respond[0](0)
  await Promise.all(waiting)
  assert.deepEqual(results, [['a', 0]])
})

test('the output of a Posted command is carried out, and a failed post is not retried', async () => {
  const { object, events, respond } = withReducer((command) => {
    const result = posted(command)
    if (result === undefined) return { posts: [post('a')] }
    return result[0] === 'a' ? { alarmMs: 9000, posts: [post('b')] } : {}
  })
  object.call(bytes('go'))
  await turn()
  respond[0](500)
  await turn()
  respond[1](500)
  await turn()
  assert.deepEqual(events, ['post a: body a', 'alarm 9000', 'post b: body b'])
})

test('an alarm sends posts and does not wait for their responses', async () => {
  const { object, events, respond } = withReducer((command) => (command.length === 0 ? { posts: [post('a')] } : {}))
  await object.ring()
  await turn()
  assert.deepEqual(events, ['rang', 'post a: body a'])
  assert.equal(respond.length, 1)
})

test('at most POSTS_AT_ONCE posts are in flight at a time', async () => {
  const ids = Array.from({ length: POSTS_AT_ONCE + 3 }, (_, i) => String(i))
  const completed = []
  const { object, respond, waiting } = withReducer((command) => {
    if (posted(command) === undefined) return { posts: ids.map(post) }
    completed.push(posted(command)[0])
    return {}
  })
  object.call(bytes('go'))
  await turn()
  assert.equal(respond.length, POSTS_AT_ONCE)
  respond[3](200)
  await turn()
  assert.equal(respond.length, POSTS_AT_ONCE + 1)
  for (let i = 0; i < ids.length; i++) {
    respond[i](200)
    await turn()
  }
  await Promise.all(waiting)
  assert.deepEqual(completed, ['3', ...ids.filter((id) => id !== '3')])
})

test('a trap in a Posted command fails only that command, and no secret is logged', async () => {
  const { object, events, respond, waiting } = withReducer((command) => {
    if (posted(command) !== undefined) throw new Error('trap')
    return { posts: text(command) === 'go' ? [post('a')] : [] }
  })
  object.call(bytes('go'))
  await turn()
  respond[0](200)
  await Promise.all(waiting)
  object.call(bytes('next'))
  assert.deepEqual(events, ['post a: body a'])
  assert.match(logged, /"object":"proj_1"/)
  assert.doesNotMatch(logged, /secret|hooks|body a/)
})
