// Writes the version of the client libraries, clients/VERSION, into the files that need it. With --check, it lists
// the files with another version instead, and fails if there are any.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Each file that contains the version, with the text before and after it. */
const FILES = [
  ['ts/package.json', '"version": "', '"'],
  ['ts/src/version.ts', "VERSION = '", "'"],
  ['ai-sdk/package.json', '"version": "', '"'],
  ['langchain/package.json', '"version": "', '"'],
  ['ai-sdk/package.json', '"@postern-ai/client": "', '"'],
  ['langchain/package.json', '"@postern-ai/client": "', '"'],
  ['python/pyproject.toml', 'version = "', '"'],
  ['python/src/postern/_version.py', '__version__ = "', '"'],
  ['go/version.go', 'version = "', '"'],
]

const version = readFileSync(join(import.meta.dirname, 'VERSION'), 'utf8').trim()
const check = process.argv.includes('--check')
if (!/^\d+\.\d+\.\d+$/.test(version))
  fail(`clients/VERSION is ${JSON.stringify(version)}, want a version such as 1.2.3`)
for (const [name, before, after] of FILES) {
  const path = join(import.meta.dirname, name)
  if (existsSync(path)) update(path, name, before, after)
}

function update(path, name, before, after) {
  const text = readFileSync(path, 'utf8')
  const start = text.indexOf(before) + before.length
  const end = text.indexOf(after, start)
  if (start < before.length || end < 0) return fail(`clients/${name} has no ${before}`)
  if (text.slice(start, end) === version) return
  if (check)
    return fail(`clients/${name} has version ${text.slice(start, end)}, want ${version}: run node clients/version.mjs`)
  writeFileSync(path, text.slice(0, start) + version + text.slice(end))
}

function fail(message) {
  console.error(message)
  process.exitCode = 1
}
