// Finds code blocks in documents, runs their commands, and compares their output.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './gateway.mjs'

/** The address in documents, which tests replace with the address of their gateway. */
export const ADDRESS = 'http://127.0.0.1:8787'

export const run = promisify(execFile)

/** A document's first code block that is in the given language and contains the given text. */
export function block(document, language, containing) {
  const text = readFileSync(join(ROOT, document), 'utf8')
  const found = [...text.matchAll(/```(\w+)\n(.*?)```/gs)].find(([, name, code]) => {
    return name === language && code.includes(containing)
  })
  assert.ok(found, `${document} has no ${language} block with ${containing}`)
  return found[2]
}

/** Runs commands in bash and returns their output. */
export async function shell(commands, env, cwd = ROOT) {
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands], { cwd, env: { ...process.env, ...env } })
  return stdout
}

/** Fails if a Python program does not compile. Running it would need the SDKs' Python packages. */
export async function compilePython(program) {
  await run('python3', ['-c', 'import sys; compile(sys.argv[1], "program", "exec")', program])
}

/** The shape of a JSON value: field names and types. */
export function shape(value) {
  if (Array.isArray(value)) return value.map(shape)
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shape(member)]))
}

/** Compares a completion with the one that a document shows. IDs and times may differ. */
export function sameCompletion(actual, shown) {
  assert.deepEqual(shape(actual), shape(shown))
  assert.deepEqual(actual.choices, shown.choices)
  assert.deepEqual(actual.usage, shown.usage)
}
