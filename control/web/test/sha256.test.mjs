import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sha256 } from '../src/sha256.js'

// Source: NIST, example values of FIPS 180-4 (csrc.nist.gov), including the message of a million letters.
const VECTORS = [
  ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  [
    'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  ],
  ['a'.repeat(1_000_000), 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0'],
]

test('the vectors of the standard', () => {
  for (const [text, want] of VECTORS) assert.equal(sha256(text), want)
})

test('texts of every length around the blocks, as another implementation hashes them', () => {
  for (let length = 0; length <= 200; length++) {
    const text = randomBytes(length).toString('latin1')
    assert.equal(sha256(text), createHash('sha256').update(text, 'utf8').digest('hex'), `${length} characters`)
  }
})

test('a text is hashed as UTF-8', () => {
  for (const text of ['é', '𝔸', '\u0000', '👩‍👩‍👧']) {
    assert.equal(sha256(text), createHash('sha256').update(text, 'utf8').digest('hex'))
  }
})
