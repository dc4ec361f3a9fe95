// The playground's requests to the gateway and their streamed responses.
import { ApiError, errorOf, get, path } from './api.js'
import { eventsOf } from './sse.js'

/**
 * The tiers that POST /api/ai/chat accepts as "quality". Any other target is sent as a model to POST
 * /v1/chat/completions.
 */
const QUALITIES = ['cheap', 'balanced', 'frontier']
const COST_TRIES = 6
const COST_WAIT_MS = 1000

/**
 * The request that a form describes.
 * @param {{target: string, system: string, user: string, maxTokens: number | string, temperature: number | string}} form
 * @returns {{to: string, body: object}}
 */
export function requestOf({ target, system, user, maxTokens, temperature }) {
  const messages = [{ role: 'user', content: user }]
  if (system.trim() !== '') messages.unshift({ role: 'system', content: system })
  const set = (name, value) => (value === '' ? {} : { [name]: value })
  if (QUALITIES.includes(target)) {
    const body = { quality: target, messages, ...set('maxTokens', maxTokens), ...set('temperature', temperature) }
    return { to: '/api/ai/chat', body }
  }
  const options = { stream: true, stream_options: { include_usage: true } }
  const body = {
    model: target,
    messages,
    ...set('max_tokens', maxTokens),
    ...set('temperature', temperature),
    ...options,
  }
  return { to: '/v1/chat/completions', body }
}

/**
 * Parses the data of an event in a stream from either endpoint.
 * @param {string} data
 * @returns {{text?: string, usage?: object, error?: object, end?: boolean}}
 */
export function partOf(data) {
  if (data === '[DONE]') return { end: true }
  const event = JSON.parse(data)
  if (event.type === 'delta') return { text: event.text }
  if (event.type === 'done') return { usage: event.usage }
  if (event.type === 'error') return { error: event }
  if (event.error) return { error: { error: event.error.message, code: event.error.code ?? event.error.type } }
  return { text: event.choices?.[0]?.delta?.content ?? '', usage: event.usage ? usageOf(event.usage) : undefined }
}

/** Converts usage from OpenAI's format to Postern's. The result has no cost. */
function usageOf(usage) {
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    totalTokens: usage.total_tokens,
    costCents: null,
  }
}

/** The response headers that describe how the request was handled. */
export function factsOf(headers) {
  const cost = headers.get('x-postern-cost-cents')
  return {
    provider: headers.get('x-postern-provider') ?? '',
    model: headers.get('x-postern-model') ?? '',
    cache: headers.get('x-postern-cache') ?? '',
    attempts: headers.get('x-postern-attempts') ?? '',
    dropped: headers.get('x-postern-dropped-params') ?? '',
    requestId: headers.get('x-request-id') ?? '',
    costCents: cost === null ? null : Number(cost),
  }
}

/** Rejects a masked key and text that is not a valid header value. @throws ApiError */
function checkKey(key) {
  if (key.includes('…')) throw new ApiError(0, { error: 'This is a masked API key', code: 'masked_key' })
  if (!/^[!-~]*$/.test(key)) throw new ApiError(0, { error: 'This is not a valid API key', code: 'not_a_key' })
}

/**
 * Sends a chat request and reports the parts of the response as they arrive.
 * @param {object} form as for requestOf, plus key
 * @param {AbortSignal} signal
 * @param {(part: {facts?: object, text?: string, usage?: object, firstTokenMs?: number}) => void} onPart
 * @throws an ApiError for an error response or a malformed key; an AbortError; {error, code} for a stream that failed
 */
export async function streamChat(form, signal, onPart) {
  checkKey(form.key)
  const { to, body } = requestOf(form)
  const startMs = performance.now()
  const response = await fetch(to, {
    method: 'POST',
    signal,
    // The cache mode is not set: "no-store" would make the browser send Cache-Control, which bypasses the gateway's
    // cache.
    credentials: 'omit',
    redirect: 'error',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': form.key },
    body: JSON.stringify(body),
  })
  onPart({ facts: factsOf(response.headers) })
  if (!response.ok) throw await errorOf(response)
  let first = true
  for await (const { data } of eventsOf(response)) {
    const part = partOf(data)
    if (first) onPart({ firstTokenMs: performance.now() - startMs })
    first = false
    if (part.error) throw Object.assign(new Error(part.error.error), part.error)
    if (part.end) return
    onPart(part)
  }
  throw Object.assign(new Error('The stream ended early'), { code: 'stream_broken' })
}

/**
 * The cost of a request, looked up in the project's recent requests.
 * @returns {Promise<number | null>} the cost in cents, or null if the request is not listed, for example because its key belongs to
 *   another project
 */
export async function costOf(projectId, requestId, signal) {
  for (let i = 0; i < COST_TRIES && !signal.aborted; i++) {
    const { requests } = await get(path`projects/${projectId}/requests`, { query: { limit: 100 }, signal })
    const found = requests.find((request) => request.requestId === requestId)
    if (found) return found.cost * 100
    await new Promise((resolve) => setTimeout(resolve, COST_WAIT_MS))
  }
  return null
}

const ADVICE = {
  missing_api_key: 'Paste a key above.',
  not_a_key: 'Paste only the key. It consists of letters, digits and underscores.',
  masked_key:
    'Paste the full key, which is shown only once, at creation. If you lost it, rotate the key or create a new one.',
  invalid_api_key: 'Check that the key is complete, active and not expired, and that its project is not archived.',
  insufficient_permissions: 'Use a gateway key (sk_) with the permission “Completions”.',
  model_not_allowed: 'Select another model, or add this one to the key’s and the project’s allowed models.',
  model_not_found: 'Select a model from the catalog; see Models and prices.',
  budget_exceeded: 'Raise the budget that the message below names, or wait until it resets.',
  rate_limit_exceeded: 'Wait until the limit resets, or raise the key’s limits.',
  invalid_request: 'Correct the fields listed below.',
  context_length_exceeded: 'Shorten the messages, or select a model with a longer context.',
  provider_rejected: 'Change the request as the provider’s message below says, or select another model.',
  content_filter: 'The provider’s content filter blocked this request. Rephrase it, or select another provider.',
  no_provider_available:
    'No provider is configured for this model. Set a provider key (the Routes page shows which credentials are missing), or use a development key.',
  provider_timeout: 'Try again, or select a faster model. See Provider status for the provider’s health.',
  stream_broken: 'Try again. Tokens received so far are shown and billed.',
}

export function adviceFor(error) {
  if (ADVICE[error.code]) return ADVICE[error.code]
  if (error.status === 0 || error instanceof TypeError)
    return 'Could not reach the gateway. Check your connection and try again.'
  if (error.status === 502 || String(error.code).startsWith('provider_')) {
    return 'All targets failed. See Provider status, or test with a development key, which needs no provider.'
  }
  return 'Try again in a moment. If it keeps failing, look up the request ID in the logs.'
}
