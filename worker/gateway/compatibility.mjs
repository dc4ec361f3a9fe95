// The gateway's platform settings from wrangler.toml. They are for programs other than wrangler that run the Worker.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The platform settings in a Worker's wrangler.toml. */
export function compatibilityOf(path) {
  const text = readFileSync(path, 'utf8')
  // Strings and lists of strings are written the same way in TOML and JSON.
  const setting = (name) => {
    const [, value] = new RegExp(`^${name} = (.*)$`, 'm').exec(text) ?? []
    if (value === undefined) throw new Error(`${path} lacks ${name}`)
    return JSON.parse(value)
  }
  return { compatibilityDate: setting('compatibility_date'), compatibilityFlags: setting('compatibility_flags') }
}

export const { compatibilityDate, compatibilityFlags } = compatibilityOf(
  join(import.meta.dirname, '../../wrangler.toml'),
)
