// The playground's response: the streamed text, then provider, tokens, cost and timing.
import { Badge } from '../components/badge.js'
import { Id, ModelName } from '../components/ids.js'
import { Money } from '../components/money.js'
import { ErrorFacts } from '../components/states.js'
import { Facts } from '../components/table.js'
import { count, dollarsOf, duration } from '../format.js'
import { html } from '../html.js'

const PHASES = {
  idle: 'Send a message to see the response here.',
  running: 'Running…',
  done: 'Complete',
  stopped: 'Stopped. Tokens received so far are billed.',
  failed: 'Failed',
}

export function Answer({ project, state, advice }) {
  return html`<p class=${`phase ${state.phase}`} role="status">${PHASES[state.phase]}</p>
    ${(state.text || state.phase === 'running') && html`<pre class="answer" tabindex="0" aria-label="Response text">${state.text}</pre>`}
    ${
      state.error &&
      html`<div class="form-error" role="alert">
      <p class="state-title">${state.error.message || 'The gateway did not respond'}</p>
      <p>${advice}</p>
      <${Details} details=${state.error.details} />
      <${ErrorFacts} error=${state.error} />
    </div>`
    }
    ${state.facts && html`<${Facts} rows=${factRows(state, project)} />`}`
}

function Details({ details }) {
  if (!details?.length) return null
  return html`<ul>${details.map(({ field, message }) => html`<li key=${field}><code>${field}</code> ${message}</li>`)}</ul>`
}

function factRows({ facts, usage, phase, firstTokenMs, totalMs }, project) {
  const rows = [
    ['Provider', facts.provider],
    ['Model', facts.model && html`<${ModelName} of=${facts.model} />`],
    ['Cache', facts.cache && html`<${Badge} of=${facts.cache} />`],
    ['Tokens', usage && `${count(usage.promptTokens)} in, ${count(usage.completionTokens)} out`],
    ['Cost', costText(facts, usage, phase)],
    ['Time to first token', firstTokenMs !== undefined && duration(firstTokenMs)],
    ['Total time', totalMs !== undefined && duration(totalMs)],
    ['Attempts', facts.attempts !== '0' && facts.attempts],
    ['Dropped parameters', facts.dropped],
    ['Request ID', facts.requestId && html`<${Id} id=${facts.requestId} project=${project.id} />`],
  ]
  return rows.filter(([, value]) => value)
}

function costText(facts, usage, phase) {
  const cost = usage?.costCents ?? facts.costCents
  if (cost !== null && cost !== undefined) return html`<${Money} of=${dollarsOf(cost)} />`
  if (phase !== 'done') return ''
  return usage && usage.costCents === null ? 'calculating…' : 'see Requests'
}
