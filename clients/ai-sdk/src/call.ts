// Postern's own settings for one call, from `providerOptions.postern`.
import type { SharedV3ProviderOptions } from '@ai-sdk/provider'
import { withUserAgentSuffix } from '@ai-sdk/provider-utils'
import { checkCall, governing, VERSION } from '@postern-ai/client/adapter'
import type { Settings } from './settings.js'

/** Settings for one call, passed as `providerOptions: { postern: { … } }`. Other fields go into the request's body. */
export type PosternCallOptions = {
  /** Tightens the project's Governor. Overrides the provider's setting. */
  governor?: { enabled?: boolean; strictMode?: boolean; autoApproveThreshold?: number }
  /** Rejects a request with parameters that the model does not support. By default, they are dropped. */
  strict?: boolean
  /** How the gateway's cache is used: `no-store`, `no-cache` or `max-age=N`. */
  cacheControl?: string
  /**
   * An idempotency key, which makes the call safe to repeat: a string, or `true` for a new key. With a key, the
   * provider itself retries a failed request, up to `retries` times, and the AI SDK's `maxRetries` has no effect.
   * Only for chat models.
   */
  idempotency?: boolean | string
}

const own = ['governor', 'strict', 'cacheControl', 'idempotency']

interface Options {
  headers?: Record<string, string | undefined>
  providerOptions?: SharedV3ProviderOptions
}

/** Moves a call's settings from its provider options to its headers. */
export function prepared<T extends Options>(options: T, settings: Settings, kind: 'chat' | 'embedding'): T {
  const { postern, ...others } = options.providerOptions ?? {}
  const call = (postern ?? {}) as PosternCallOptions
  const body = Object.fromEntries(Object.entries(postern ?? {}).filter(([name]) => !own.includes(name)))
  checkCall({ governor: call.governor, idempotency: call.idempotency })
  const idempotency = kind === 'chat' ? (call.idempotency ?? settings.idempotency) : false
  const headers = {
    ...settings.headers,
    ...options.headers,
    'x-postern-govern': governing(settings.governor, call.governor).header ?? undefined,
    'x-postern-strict': call.strict ? 'true' : undefined,
    'cache-control': call.cacheControl,
    'idempotency-key': idempotency === true ? `postern-${crypto.randomUUID()}` : idempotency || undefined,
  }
  const sent = withUserAgentSuffix(headers, `postern-ai-sdk/${VERSION}`)
  return { ...options, headers: sent, providerOptions: { ...others, postern: body } }
}
