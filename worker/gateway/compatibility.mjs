// The gateway's platform settings from wrangler.toml. They are for programs other than wrangler that run the Worker.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const text = readFileSync(join(import.meta.dirname, '../../wrangler.toml'), 'utf8')

// Strings and lists of strings are written the same way in TOML and JSON.
function setting(name) {
  const [, value] = new RegExp(`^${name} = (.*)$`, 'm').exec(text) ?? []
  if (value === undefined) throw new Error(`wrangler.toml lacks ${name}`)
  return JSON.parse(value)
}

export const compatibilityDate = setting('compatibility_date')
export const compatibilityFlags = setting('compatibility_flags')
