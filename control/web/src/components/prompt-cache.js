// What the prompt caches of providers read, wrote and saved. These caches are separate from the gateway's own cache,
// which has a hit rate.
import { count } from '../format.js'
import { html } from '../html.js'
import { Money } from './money.js'

export const PROMPT_CACHE_COLUMNS = [
  {
    label: 'Prompt cache read',
    num: true,
    sort: ({ promptCache }) => promptCache.readTokens,
    cell: ({ promptCache }) => count(promptCache.readTokens),
  },
  {
    label: 'Prompt cache written',
    num: true,
    sort: ({ promptCache }) => promptCache.writeTokens,
    cell: ({ promptCache }) => count(promptCache.writeTokens),
  },
  {
    label: 'Prompt cache saved',
    sort: ({ promptCache }) => promptCache.saved,
    num: true,
    cell: ({ promptCache }) => html`<${Money} of=${promptCache.saved} />`,
  },
]

/**
 * The cached tokens of one request, shown below its other tokens. Renders nothing if the request did not use a prompt
 * cache.
 */
export function PromptCacheTokens({ of: { readTokens, writeTokens } }) {
  return html`${readTokens > 0 && html`<span class="under">${count(readTokens)} read from prompt cache</span>`}
    ${writeTokens > 0 && html`<span class="under">${count(writeTokens)} written to prompt cache</span>`}`
}

/** What one request saved, or how much more it cost, shown below its cost. */
export function PromptCacheSaved({ of: { saved } }) {
  if (saved === 0) return null
  return html`<span class="under">prompt cache ${saved > 0 ? 'saved' : 'added'} <${Money} of=${Math.abs(saved)} /></span>`
}
