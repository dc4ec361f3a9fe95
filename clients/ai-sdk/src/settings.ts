// The parts that all models of a provider share: the checked options and the function that sends requests.
import type { FetchFunction } from '@ai-sdk/provider-utils'
import { type AdapterOptions, adapterSettings, type GovernorOptions, keyOf, resend } from '@postern-ai/client/adapter'

/** Options of `createPostern`. Options that the client also has have the same defaults and `POSTERN_…` variables. */
export interface PosternProviderOptions extends AdapterOptions {
  /** Sends the requests instead of the global `fetch`. */
  fetch?: FetchFunction
}

/** Checked options. Only `fetch` has the key, so no serialized model and no error contains it. */
export interface Settings {
  baseURL: string
  governor: GovernorOptions
  idempotency: boolean
  headers: Record<string, string>
  fetch: FetchFunction
}

export function settingsOf(options: PosternProviderOptions): Settings {
  const settings = adapterSettings(options)
  const { baseURL, governor, idempotency, retries, fetch } = settings
  const send: FetchFunction = (url, init) => {
    const headers = new Headers(init?.headers)
    headers.delete('authorization')
    const once = async () => {
      headers.set('x-api-key', await keyOf(settings))
      // A redirect must not carry the key to another address.
      return fetch(String(url), { ...init, headers, redirect: 'manual' })
    }
    // A retry by the AI SDK would get a new idempotency key. So if there is a key, the provider retries the request
    // itself.
    return headers.has('idempotency-key') ? resend(once, retries, init?.signal ?? undefined) : once()
  }
  return { baseURL: `${baseURL}/v1`, governor, idempotency, headers: { ...options.headers }, fetch: send }
}
