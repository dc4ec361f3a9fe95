// The lock files of npm pin every package by its hash, and name no registry.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../..')
const files = execFileSync('git', ['ls-files', '*package-lock.json'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')

test('there are lock files', () => assert.ok(files.length >= 4, `${files}`))

for (const file of files)
  test(`${file} pins every package`, () => {
    const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8'))
    const downloaded = Object.entries(packages).filter(
      ([path, entry]) => path.includes('node_modules/') && !entry.link && !entry.inBundle,
    )
    assert.ok(downloaded.length > 0)
    for (const [path, entry] of downloaded) {
      assert.match(entry.integrity ?? '', /^sha512-/, path)
      assert.equal(entry.resolved, undefined, path)
    }
  })
