// The client's options, errors and metadata for @postern-ai/ai-sdk and @postern-ai/langchain, which put Postern
// behind a framework's interface. No other package should use this module, because any version may change it.
import { type APIError, ConfigurationError } from './errors.js'
import { errorOf, flat } from './failure.js'
import { isObject, parsed } from './json.js'
import { keyOfAttempt } from './key.js'
import { type ClientOptions, type Settings, settingsOf } from './options.js'
import { mayRepeat, pauseBefore } from './retry.js'
import { refuseBrowser } from './runtime.js'

export * from './errors.js'
export { metaOf, type ResponseMeta } from './meta.js'
export { checkCall, type GovernorOptions, governing, type Settings } from './options.js'
export { VERSION } from './version.js'

const OPTIONS = ['apiKey', 'baseURL', 'environment', 'retries', 'idempotency', 'governor', 'fetch'] as const

/** The client options that an adapter also has. The framework has its own options for timeouts and logs. */
export interface AdapterOptions extends Pick<ClientOptions, (typeof OPTIONS)[number]> {
  /** Headers of every request. `authorization` and `x-api-key` cannot be set. */
  headers?: Record<string, string> | undefined
}

/** Checks an adapter's options and completes them from variables and defaults. */
export function adapterSettings({ headers = {}, ...options }: AdapterOptions): Settings {
  refuseBrowser()
  for (const name of Object.keys(headers)) {
    if (/^(authorization|x-api-key)$/i.test(name)) throw new ConfigurationError(`headers must not set ${name}`)
  }
  for (const name of Object.keys(options)) {
    if (!OPTIONS.includes(name as (typeof OPTIONS)[number])) {
      throw new ConfigurationError(`${name} is not an option; the options are ${OPTIONS.join(', ')}, headers`)
    }
  }
  return settingsOf(options)
}

/** The key for one attempt. Rejects with a ConfigurationError if the key function does not return one. */
export function keyOf({ apiKey, wanted }: Settings): Promise<string> {
  return keyOfAttempt(apiKey, wanted)
}

/** The error for a response from `/v1`, whose body has OpenAI's shape. */
export function errorOfV1(status: number, headers: Headers, text: string, governed: boolean): APIError {
  const body = parsed(text)
  return errorOf(status, headers, isObject(body) ? JSON.stringify(flat(body)) : text, governed)
}

/** Retries a request after failures, according to the client's rules. The request must be the same each time. */
export async function resend(send: () => Promise<Response>, retries: number, signal?: AbortSignal): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const response = await send().catch((error: unknown) => {
      if (attempt > retries || signal?.aborted || error instanceof ConfigurationError) throw error
      return null
    })
    if (response && (response.ok || attempt > retries)) return response
    const failed = { status: response?.status ?? null, headers: response?.headers ?? null }
    const pause = mayRepeat(failed, true) ? pauseBefore(failed.headers, attempt, Date.now(), Math.random) : null
    if (pause === null) return response as Response
    await response?.body?.cancel()
    await wait(pause.ms, signal)
  }
}

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
  })
}
