// src/shell.ts with a reducer, a storage and a platform of the test's own.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { NO_BYTES, POSTS_AT_ONCE, Reader } from '../src/abi.ts'
import { clock } from '../src/clock.ts'
import { Shell } from '../src/shell.ts'

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

// What a Posted says: [id, status]; undefined if the command is another.
function posted(command) {
  if (command[0] !== 0x7f) return undefined
  const r = new Reader().open(command, 1, command.length - 1)
  const told = [r.text(), r.uint()]
  r.end()
  return told
}

// An object whose reducer is apply(command) -> part of an output. Everything that happens is an entry of events.
function object(apply) {
  const events = []
  const rows = new Map()
  const waiting = []
  const core = {
    start: () => ({ error: '' }),
    reads: () => OUTPUT,
    apply: ({ command }) => ({ ...OUTPUT, ...apply(command) }),
  }
  const answers = []
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
      return new Promise((resolve) => answers.push(resolve))
    },
    waitUntil: (promise) => waiting.push(promise),
  }
  const shell = new Shell({ core }, {}, 2, 'proj_1', platform)
  return { shell, events, rows, answers, waiting }
}

test('a post goes out after the commit and the reply, and the object is told what came of it', async () => {
  const { shell, events, answers, waiting } = object((command) => {
    const told = posted(command)
    if (told !== undefined) return { puts: [{ key: 'told', value: bytes(told.join(' ')) }] }
    return { puts: [{ key: 'row', value: bytes('1') }], reply: bytes('reply'), alarmMs: 5000, posts: [post('a')] }
  })
  assert.equal(text(shell.call(bytes('go'))), 'reply')
  assert.deepEqual(events, ['put row 1', 'alarm 5000'])
  await turn()
  assert.deepEqual(events.slice(2), ['post a: body a'])
  answers[0](204)
  await Promise.all(waiting)
  assert.deepEqual(events.slice(3), ['put told a 204'])
  assert.equal(waiting.length, 1)
})

test('status 0 says that no answer came', async () => {
  const told = []
  const { shell, answers, waiting } = object((command) => {
    if (posted(command) === undefined) return { posts: [post('a')] }
    told.push(posted(command))
    return {}
  })
  shell.call(bytes('go'))
  await turn()
  answers[0](0)
  await Promise.all(waiting)
  assert.deepEqual(told, [['a', 0]])
})

test('what the reducer asks for when it is told is done, and nothing is repeated unasked', async () => {
  const { shell, events, answers } = object((command) => {
    const told = posted(command)
    if (told === undefined) return { posts: [post('a')] }
    return told[0] === 'a' ? { alarmMs: 9000, posts: [post('b')] } : {}
  })
  shell.call(bytes('go'))
  await turn()
  answers[0](500)
  await turn()
  answers[1](500)
  await turn()
  assert.deepEqual(events, ['post a: body a', 'alarm 9000', 'post b: body b'])
})

test('an alarm posts too, and does not wait for the answer', async () => {
  const { shell, events, answers } = object((command) => (command.length === 0 ? { posts: [post('a')] } : {}))
  await shell.ring()
  await turn()
  assert.deepEqual(events, ['rang', 'post a: body a'])
  assert.equal(answers.length, 1)
})

test('no more posts at once than may be', async () => {
  const ids = Array.from({ length: POSTS_AT_ONCE + 3 }, (_, i) => String(i))
  const told = []
  const { shell, answers, waiting } = object((command) => {
    if (posted(command) === undefined) return { posts: ids.map(post) }
    told.push(posted(command)[0])
    return {}
  })
  shell.call(bytes('go'))
  await turn()
  assert.equal(answers.length, POSTS_AT_ONCE)
  answers[3](200)
  await turn()
  assert.equal(answers.length, POSTS_AT_ONCE + 1)
  for (let i = 0; i < ids.length; i++) {
    answers[i](200)
    await turn()
  }
  await Promise.all(waiting)
  assert.deepEqual(told, ['3', ...ids.filter((id) => id !== '3')])
})

test('a reducer that traps when it is told loses that command only, and no secret is logged', async () => {
  const { shell, events, answers, waiting } = object((command) => {
    if (posted(command) !== undefined) throw new Error('trap')
    return { posts: text(command) === 'go' ? [post('a')] : [] }
  })
  shell.call(bytes('go'))
  await turn()
  answers[0](200)
  await Promise.all(waiting)
  shell.call(bytes('next'))
  assert.deepEqual(events, ['post a: body a'])
  assert.match(logged, /"object":"proj_1"/)
  assert.doesNotMatch(logged, /secret|hooks|body a/)
})
