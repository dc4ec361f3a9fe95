// The description of the API, parsed once.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { OPENAPI, ROOT } from './sources.mjs'

export const spec = parse(readFileSync(join(ROOT, OPENAPI), 'utf8'))

/** Returns the target of a reference. Any other value is returned unchanged. */
export function resolve(value) {
  if (!value?.$ref) return value
  const target = value.$ref
    .slice('#/'.length)
    .split('/')
    .reduce((at, key) => at[key], spec)
  return resolve(target)
}
