// The build steps that follow the compilers: tools/pack-wasm.mjs and tools/check-size.mjs.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { pack } from '../../tools/pack-wasm.mjs'

const tools = resolve(import.meta.dirname, '../../tools')
const folder = mkdtempSync(join(tmpdir(), 'postern-build-'))
after(() => rmSync(folder, { recursive: true }))

function leb(value) {
  const bytes = []
  for (; value >= 64; value >>>= 7) bytes.push((value & 127) | 128)
  return [...bytes, value]
}

const section = (id, content) => [id, ...leb(content.length), ...content]

/** A module with a memory of two pages, exported as mem, and data segments [address, bytes]. */
function moduleOf(...segments) {
  const data = segments.flatMap(([address, bytes]) => [0, 0x41, ...leb(address), 0x0b, ...leb(bytes.length), ...bytes])
  return Buffer.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(5, [1, 0, 2]),
    ...section(7, [1, 3, ...Buffer.from('mem'), 2, 0]),
    ...section(11, [...leb(segments.length), ...data]),
    ...section(0, [4, ...Buffer.from('name'), 1, 2, 3]),
  ])
}

function memoryOf(module) {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module))
  return Buffer.from(instance.exports.mem.buffer)
}

const filled = (length, byte) => new Array(length).fill(byte)

test('a packed module starts with the same memory', () => {
  for (const segments of [
    [],
    [[0, [1]]],
    [
      [63, [1]],
      [64, [2]],
      [8191, [3, 4]],
      [8192 + 1, [5]],
    ],
    [
      [70_000, [9]],
      [16, [7, 0, 7]],
      [30, [8]],
    ], // not in the order of their addresses
    [
      [100, filled(300, 6)],
      [500, filled(20_000, 5)],
      [100_000, filled(64, 4)],
    ],
    [[131_071, [1]]],
    [
      [10, []],
      [20, [1]],
    ],
  ]) {
    const module = moduleOf(...segments)
    const packed = pack(module)
    assert.deepEqual(memoryOf(packed), memoryOf(module), JSON.stringify(segments))
    assert.deepEqual(pack(packed), packed)
    assert.ok(packed.includes(Buffer.from('name')), 'another section is missing')
  }
})

test('segments with short gaps become one, and the module compresses better', () => {
  const scattered = Array.from({ length: 1000 }, (_, i) => [32 * i + ((i * i) % 7), [1, 2, 3]])
  const packed = pack(moduleOf(...scattered))
  const far = pack(moduleOf([0, [1]], [100_000, [2]]))
  assert.deepEqual(far, moduleOf([0, [1]], [100_000, [2]]))
  assert.equal(
    packed.indexOf(Buffer.from([0, 0x41])),
    packed.lastIndexOf(Buffer.from([0, 0x41])),
    'more than one segment',
  )
  assert.ok(gzipSync(packed).length < gzipSync(moduleOf(...scattered)).length / 2)
})

test('a module that Go does not write is not changed', () => {
  const overlapping = moduleOf([0, [1, 2, 3]], [2, [4]])
  assert.throws(() => pack(overlapping), /overlap/)
  const passive = moduleOf([0, [1]])
  passive[passive.indexOf(Buffer.from([0, 0x41, 0]))] = 1
  assert.throws(() => pack(passive), /unexpected byte 1/)
  assert.throws(() => pack(moduleOf([0, [1]]).subarray(0, -1)), /unexpected end/)
})

function check(name, content, limit) {
  const file = join(folder, name)
  writeFileSync(file, content)
  return spawnSync(process.execPath, [join(tools, 'check-size.mjs'), file, limit], { encoding: 'utf8' })
}

test('a module at its limit is built, a larger one is not', () => {
  const content = readFileSync(process.execPath).subarray(0, 5000)
  const gzipped = gzipSync(content, { level: 9 }).length
  const fits = check('app.wasm.new', content, String(gzipped))
  assert.equal(fits.status, 0, fits.stderr)
  assert.match(fits.stderr, new RegExp(`app\\.wasm: 5000 bytes, ${gzipped} gzipped of at most ${gzipped}\\n$`))
  const exceeds = check('app.wasm.new', content, String(gzipped - 7))
  assert.equal(exceeds.status, 1)
  assert.match(
    exceeds.stderr,
    /app\.wasm is 7 bytes too large\. CONTRIBUTING\.md, .* docs\/project\/decisions\/build-and-release\.md\.\n$/,
  )
  assert.equal(check('app.wasm.new', content, '').status, 1, 'no limit')
  assert.equal(check('app.wasm.new', content, '2.5 MB').status, 1, 'not a number')
})
