// The gateway's platform settings in wrangler.toml, for everything beside wrangler that runs the Worker.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const text = readFileSync(join(import.meta.dirname, '../../wrangler.toml'), 'utf8')

// A string or a list of strings is written alike in TOML and JSON.
function setting(name) {
  const [, value] = new RegExp(`^${name} = (.*)$`, 'm').exec(text) ?? []
  if (value === undefined) throw new Error(`wrangler.toml lacks ${name}`)
  return JSON.parse(value)
}

export const compatibilityDate = setting('compatibility_date')
export const compatibilityFlags = setting('compatibility_flags')
