// Checks src/abi.ts against vectors written by the Go side: testdata/abi/vectors.json is an array of
// {name, type, hex, value}, where value is the Go struct as JSON, with byte strings in hexadecimal. constants.json has the
// Go constants.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as abi from '../src/abi.ts'

const vectors = JSON.parse(readFileSync(new URL('../../../testdata/abi/vectors.json', import.meta.url), 'utf8'))

const bytes = (hex) => Uint8Array.from(Buffer.from(hex ?? '', 'hex'))
const hex = (data) => Buffer.from(data).toString('hex')
const list = (value) => value ?? []
const flat = (headers) => list(headers).flatMap(({ Name, Value }) => [Name, Value])
const unflat = (texts) =>
  Array.from({ length: texts.length / 2 }, (_, i) => ({ Name: texts[2 * i], Value: texts[2 * i + 1] }))
const row = ({ key, value }) => ({ Key: key, Value: hex(value) })

const encoders = {
  StepInput(w, v) {
    const { Kind, ID, Code, Headers, Data } = v.Event
    const event = { kind: Kind, id: ID, code: Code, headers: flat(Headers), data: bytes(Data) }
    abi.writeStepInput(w, {
      nowMs: v.NowMs,
      shared: bytes(v.Shared),
      state: bytes(v.State),
      attached: bytes(v.Attached),
      pinned: bytes(v.Pinned),
      waiting: v.Waiting,
      event,
    })
    return [w.written(), event.data]
  },
  ObjectInput(w, v) {
    const rows = list(v.Rows).map(({ Key, Value }) => ({ key: Key, value: bytes(Value) }))
    abi.writeObjectInput(w, {
      nowMs: v.NowMs,
      class: v.Class,
      name: v.Name,
      command: bytes(v.Command),
      round: v.Round,
      rows,
    })
    return [w.written()]
  },
  Posted(w, v) {
    abi.writePosted(w, { id: v.ID, status: v.Status })
    return [w.written()]
  },
  Config(w, v) {
    abi.writeConfig(w, { catalog: bytes(v.Catalog), env: flat(v.Env) })
    return [w.written()]
  },
}

const decoders = {
  StepOutput(r) {
    const { sharedChanged, shared, pinnedChanged, pinned, pinnedKeepMs, wake, state, actions } = abi.readStepOutput(r)
    return {
      SharedChanged: sharedChanged,
      Shared: hex(shared),
      PinnedChanged: pinnedChanged,
      Pinned: hex(pinned),
      PinnedKeepMs: pinnedKeepMs,
      Wake: wake,
      State: hex(state),
      Actions: actions.map(action),
    }
  },
  ObjectOutput(r) {
    const out = abi.readObjectOutput(r)
    return {
      Ranges: out.ranges.map(({ start, end, limit }) => ({ Start: start, End: end, Limit: limit })),
      Puts: out.puts.map(row),
      Deletes: out.deletes,
      Reply: hex(out.reply),
      AlarmMs: out.alarmMs,
      Deliver: out.deliver,
      Posts: out.posts.map(({ id, url, headers, body }) => ({
        ID: id,
        URL: url,
        Headers: unflat(headers),
        Body: hex(body),
      })),
    }
  },
  Configured(r) {
    const out = abi.readConfigured(r)
    return {
      Version: out.version,
      Error: out.error,
      RequestHeaders: out.requestHeaders,
      ResponseHeaders: out.responseHeaders,
      MemoryBytes: out.memoryBytes,
      MemoryEntryBytes: out.memoryEntryBytes,
      MemoryOverheadBytes: out.memoryOverheadBytes,
      PinnedEntries: out.pinnedEntries,
      KVCacheSeconds: out.kvCacheSeconds,
      LastResortStatus: out.lastResortStatus,
      LastResortHeaders: unflat(out.lastResortHeaders),
      LastResortBody: out.lastResortBody.map(hex),
    }
  },
}

function action(a) {
  return {
    Kind: a.kind,
    ID: a.id,
    Buffer: a.buffer,
    Limit: a.limit,
    Data: hex(a.data),
    Key: a.key,
    Where: a.where,
    KeepMs: a.keepMs,
    TTL: a.ttl,
    Class: a.class,
    Name: a.name,
    Region: a.region,
    Method: a.method,
    URL: a.url,
    Code: a.code,
    Headers: unflat(a.headers),
    Body: a.body.map(({ buffer, data }) => ({ Buffer: buffer, Data: hex(data) })),
    HeadMs: a.headMs,
    FirstByteMs: a.firstByteMs,
    IdleMs: a.idleMs,
    TotalMs: a.totalMs,
    Stream: a.stream,
  }
}

function decode(type, data) {
  if (type !== 'Delivery') return decoders[type](new abi.Reader().open(data, 0, data.length))
  const { class: objectClass, name, region, data: content } = abi.readDelivery(data)
  return { Class: objectClass, Name: name, Region: region, Data: hex(content) }
}

// Converts a vector's value to the form of the decoded value (like). In a vector, a nil slice is null, an empty byte
// string may be missing, and the fields of Timeouts are nested.
function normalized(value, like) {
  if (Array.isArray(like)) return list(value).map((item, i) => normalized(item, like[i]))
  if (like === null || typeof like !== 'object') return value ?? (typeof like === 'string' ? '' : value)
  const source = { ...value, ...value?.Timeouts }
  return Object.fromEntries(Object.entries(like).map(([name, field]) => [name, normalized(source[name], field)]))
}

test('every type has vectors', () => {
  const types = new Set(vectors.map(({ type }) => type))
  assert.deepEqual([...types].sort(), [...Object.keys(encoders), ...Object.keys(decoders), 'Delivery'].sort())
})

for (const { name, type, hex: wire, value } of vectors) {
  if (type in encoders) {
    test(`encode ${type}: ${name}`, () => {
      const parts = encoders[type](new abi.Writer(), value)
      assert.equal(parts.map(hex).join(''), wire)
    })
  } else {
    test(`decode ${type}: ${name}`, () => {
      const got = decode(type, bytes(wire))
      assert.deepEqual(got, normalized(value, got))
    })
    test(`malformed ${type}: ${name}`, () => {
      const whole = bytes(wire)
      for (let n = 0; n < whole.length; n++) {
        assert.throws(() => decode(type, whole.subarray(0, n)), abi.MalformedError, `${n} bytes`)
      }
      assert.throws(() => decode(type, Uint8Array.from([...whole, 0])), abi.MalformedError, 'one byte too long')
    })
  }
}

const constants = JSON.parse(readFileSync(new URL('../../../testdata/abi/constants.json', import.meta.url), 'utf8'))

/**
 * Converts OutcomeTooLarge to OUTCOME_TOO_LARGE. Version becomes ABI_VERSION, because it is the version of the wire.
 */
function capitals(name) {
  if (name === 'Version') return 'ABI_VERSION'
  return name.replace(/([a-z])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3_$2$4').toUpperCase()
}

test('constants are those of the Go side', () => {
  const here = Object.fromEntries(
    Object.entries(abi).filter(([name, value]) => /^[A-Z_]+$/.test(name) && typeof value !== 'object'),
  )
  // The names of the calls are a TypeScript type.
  const there = Object.entries(constants).filter(([name]) => !/^Call[A-Z]/.test(name) || name === 'CallFailed')
  assert.deepEqual(here, Object.fromEntries(there.map(([name, value]) => [capitals(name), value])))
})

test('a class above 255 is malformed', () => {
  const call = bytes('0000000106008102000000')
  assert.throws(() => abi.readStepOutput(new abi.Reader().open(call, 0, call.length)), abi.MalformedError)
  assert.throws(() => abi.readDelivery(bytes('8102000000')), abi.MalformedError)
})

test('numbers up to 2^53 - 1 round-trip', () => {
  for (const number of [0, 1, 127, 128, 16383, 16384, 2 ** 31, 2 ** 32 + 5, 2 ** 49, Number.MAX_SAFE_INTEGER]) {
    const w = new abi.Writer()
    w.uint(number)
    assert.equal(new abi.Reader().open(w.bytes, 0, w.length).uint(), number)
  }
})

test('numbers that are too long or too large are malformed', () => {
  for (const wire of ['', '80', '8000', 'ff00', '80808080808080808001', 'ffffffffffffff1f', 'ffffffffffffffff7f']) {
    const data = bytes(wire)
    assert.throws(() => new abi.Reader().open(data, 0, data.length).uint(), abi.MalformedError, wire)
  }
})

test('any text round-trips', () => {
  const pieces = ['', 'a', 'é', '€', '😀', '\ufeff', '\0', '"\\']
  const w = new abi.Writer()
  const texts = []
  for (const length of [0, 1, 15, 16, 17, 23, 24, 25, 41, 42, 43, 63, 127, 128, 129, 5461, 5462, 16384]) {
    for (const piece of pieces) texts.push(piece + 'x'.repeat(length), 'x'.repeat(length) + piece, piece.repeat(length))
  }
  for (const text of texts) {
    w.text(text)
    const size = Buffer.byteLength(text)
    assert.equal(hex(w.bytes.subarray(w.length - size, w.length)), Buffer.from(text).toString('hex'))
  }
  const r = new abi.Reader().open(w.bytes, 0, w.length)
  for (const text of texts) assert.equal(r.text(), text)
  r.end()
})

test('decoded bytes are copies', () => {
  const wire = bytes('03010203')
  const data = new abi.Reader().open(wire, 0, 4).data()
  wire.fill(9)
  assert.equal(hex(data), '010203')
  assert.equal(data.buffer.byteLength, 3)
})

test('the data of an action are copies, except of a log line and of a body, which are used at once', () => {
  for (const { type, hex: wire, value } of vectors) {
    if (type !== 'StepOutput') continue
    const output = bytes(wire)
    const { actions } = abi.readStepOutput(new abi.Reader().open(output, 0, output.length))
    output.fill(9)
    for (const [i, a] of actions.entries()) {
      if (a.kind === abi.ACTION_LOG) continue
      const { Body: _, ...got } = action(a)
      assert.deepEqual(got, normalized(value.Actions[i], got))
    }
  }
})
