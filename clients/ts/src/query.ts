// Query strings of requests.
import { ConfigurationError } from './errors.js'
import { isObject } from './json.js'

/** Values of a query; undefined ones are left out. */
export type Query = Record<string, string | number | boolean | Date | null | undefined>

/** Checks the option `query`. Its values may be secret, so the error does not show them. */
export function checkQuery(query: unknown): void {
  if (!isObject(query)) throw new ConfigurationError('query must be an object')
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && !['string', 'number', 'boolean'].includes(typeof value))
      throw new ConfigurationError(`query.${name} must be a string, a number or a boolean`)
  }
}

/**
 * The query string with its question mark, or an empty string. If a name occurs more than once, the last value counts.
 */
export function search(...queries: Query[]): string {
  const params = new URLSearchParams()
  for (const [name, value] of queries.flatMap((query) => Object.entries(query))) {
    if (value === undefined || value === null) continue
    params.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  const text = params.toString()
  return text && `?${text}`
}
