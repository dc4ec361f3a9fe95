// The playground's request, and its answer as it comes.
import { ApiError, errorOf, get, path } from './api.js'
import { eventsOf } from './sse.js'

/** The tiers that POST /api/ai/chat takes by name; everything else is a model for POST /v1/chat/completions. */
const QUALITIES = ['cheap', 'balanced', 'frontier']
const COST_TRIES = 6
const COST_WAIT_MS = 1000

/**
 * What is sent.
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
 * What an event of either stream says.
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

/** OpenAI's names for the counts as ours. It knows no cost. */
function usageOf(usage) {
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    totalTokens: usage.total_tokens,
    costCents: null,
  }
}

/** What an answer's headers tell of how it was made. */
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

/** @throws an ApiError for a key that cannot be sent: headers have no other characters, and no key has. */
function checkKey(key) {
  if (key.includes('…')) throw new ApiError(0, { error: 'This is the shortened form of a key', code: 'shortened_key' })
  if (!/^[!-~]*$/.test(key)) throw new ApiError(0, { error: 'This is not a key', code: 'not_a_key' })
}

/**
 * Sends, and tells of the answer as it comes.
 * @param {object} form as for requestOf, and key
 * @param {AbortSignal} signal
 * @param {(part: {facts?: object, text?: string, usage?: object, firstByteMs?: number}) => void} tell
 * @throws an ApiError for a refusal, or for a key that cannot be one; an AbortError; {error, code} for a stream that failed
 */
export async function converse(form, signal, tell) {
  checkKey(form.key)
  const { to, body } = requestOf(form)
  const began = performance.now()
  const response = await fetch(to, {
    method: 'POST',
    signal,
    credentials: 'omit', // and no cache mode: a browser turns no-store into a header that the gateway obeys
    redirect: 'error',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': form.key },
    body: JSON.stringify(body),
  })
  tell({ facts: factsOf(response.headers) })
  if (!response.ok) throw await errorOf(response)
  let first = true
  for await (const { data } of eventsOf(response)) {
    const part = partOf(data)
    if (first) tell({ firstByteMs: performance.now() - began })
    first = false
    if (part.error) throw Object.assign(new Error(part.error.error), part.error)
    if (part.end) return
    tell(part)
  }
  throw Object.assign(new Error('The answer broke off'), { code: 'stream_broken' })
}

/**
 * The cost of a request that does not tell it itself, from the project's recent requests.
 * @returns {Promise<number | null>} cents; null if it is not listed, as with another project's key
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
  not_a_key: 'Paste the whole key and nothing besides: it has letters, digits and underscores only.',
  shortened_key:
    'Lists show a key’s beginning and end only. Paste the whole value, which was shown when the key was made; if it is lost, rotate the key or create another one.',
  invalid_api_key: 'Check that the key is whole, active and not expired, and that its project is not archived.',
  insufficient_permissions: 'Use a gateway key (sk_) that may make completions.',
  model_not_allowed: 'Choose another model, or allow this one in the key’s or the project’s settings.',
  model_not_found: 'Choose a model of the catalog; see Models and prices.',
  budget_exceeded: 'Raise the budget in the project’s settings, or wait for its next period.',
  rate_limit_exceeded: 'Wait a little, or give the key higher limits.',
  invalid_request: 'Correct what is named below.',
  context_length_exceeded: 'Shorten the messages, or choose a model with a longer context.',
  content_filter: 'The provider will not answer this. Say it differently, or choose another provider.',
  no_provider_available:
    'No provider of this model is set up. Set one’s key under Provider keys (Routes shows what is ready), or use a development key: the built-in provider answers that.',
  provider_timeout: 'Try again, or choose a faster model. Provider status tells how it is doing.',
  stream_broken: 'Try again. What came until then is shown, and paid for.',
}

/** What to do about a refusal of the gateway. */
export function adviceFor(error) {
  if (ADVICE[error.code]) return ADVICE[error.code]
  if (error.status === 0 || error instanceof TypeError)
    return 'The gateway cannot be reached. Check the connection, then try again.'
  if (error.status === 502 || String(error.code).startsWith('provider_')) {
    return 'All targets failed: see the attempts, and Provider status. A development key is answered without a provider.'
  }
  return 'Try again in a moment. If it stays, look the request id up in the logs.'
}
