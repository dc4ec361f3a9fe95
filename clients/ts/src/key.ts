// The API key: a string, or a function that returns it.
import { ConfigurationError } from './errors.js'
import type { Environment } from './options.js'

/** The function of the option `apiKey`. */
export type KeyFunction = () => string | Promise<string>

/** A key without surrounding white space. An error mentions `name`, but never the key. */
export function checkedKey(key: unknown, name: string): string {
  const text = typeof key === 'string' ? key.trim() : ''
  if (text === '') throw new ConfigurationError(`${name} is not an API key: it must be a text that is not empty`)
  if (/[^ -~]/.test(text)) {
    throw new ConfigurationError(`${name} contains a control character or a character that is not ASCII`)
  }
  return text
}

/** The environment in a key's prefix. Undefined if there is none. */
export function environmentOfKey(key: string): Environment | undefined {
  const kind = /^[sp]k_(live|test)_/.exec(key)?.[1]
  if (kind === undefined) return undefined
  return kind === 'live' ? 'production' : 'development'
}

/**
 * The key for one attempt. If the function fails, the thrown error does not include the function's error, which may
 * contain a secret. If the caller has set an environment, it is `wanted`, and the key must belong to it.
 */
export async function keyOfAttempt(source: string | KeyFunction, wanted: Environment | undefined): Promise<string> {
  if (typeof source === 'string') return source
  let given: unknown
  try {
    given = await source()
  } catch {
    throw new ConfigurationError('The function apiKey failed, so there is no API key')
  }
  const key = checkedKey(given, 'What the function apiKey returned')
  const actual = environmentOfKey(key)
  if (wanted && actual && wanted !== actual) {
    throw new ConfigurationError(`environment is ${wanted}, but the function apiKey returned a ${actual} key`)
  }
  return key
}
