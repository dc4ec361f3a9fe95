// The groupings of a project's usage: by model, by key, by provider.
import { ModelName } from '../components/ids.js'
import { Money } from '../components/money.js'
import { Name } from '../components/name.js'
import { OUTCOME_COLUMNS } from '../components/outcomes.js'
import { PROMPT_CACHE_COLUMNS } from '../components/prompt-cache.js'
import { ATTEMPT_COLUMNS, SPEED_COLUMNS } from '../components/usage-columns.js'
import { count, hitRate } from '../format.js'
import { html } from '../html.js'
import { isDay } from '../ranges.js'
import { to } from '../router.js'
import { share } from '../usage.js'

const SPEND = {
  label: 'Cost',
  sort: (row) => row.cost,
  num: true,
  cell: (row) => html`<${Money} of=${row.cost} />`,
}

/** The columns that follow the name in every grouping. */
export const COLUMNS = [
  ...OUTCOME_COLUMNS,
  SPEND,
  ...SPEED_COLUMNS,
  ...ATTEMPT_COLUMNS,
  {
    label: 'Cache hit rate',
    sort: ({ hits, misses }) => share(hits, hits + misses),
    num: true,
    cell: (row) => hitRate(row),
  },
  { label: 'Input tokens', sort: (row) => row.promptTokens, num: true, cell: (row) => count(row.promptTokens) },
  {
    label: 'Output tokens',
    sort: (row) => row.completionTokens,
    num: true,
    cell: (row) => count(row.completionTokens),
  },
  ...PROMPT_CACHE_COLUMNS,
]

/**
 * The label of the row without a name. In ranges of hours, which list at most 128 keys and 64 models, the row also
 * includes all others.
 */
const unnamed = (query, none) =>
  html`<span class="muted">${query.from && isDay(query.from) ? none : `${none} or others`}</span>`

function modelColumn(_, query) {
  const cell = (row) => (row.model ? html`<${ModelName} of=${row.model} />` : unnamed(query, 'none'))
  return { label: 'Model', sort: (row) => row.model, head: true, cell }
}

function keyColumn(project, query) {
  const cell = ({ keyId, keyName }) => {
    if (!keyId) return unnamed(query, 'none')
    if (keyName === null || keyName === undefined)
      return html`<code>${keyId}</code> <span class="muted">(deleted)</span>`
    return html`<${Name} text=${keyName} href=${to('projects', project.id, 'keys', keyId)} />`
  }
  return { label: 'API key', sort: (row) => row.keyName, head: true, cell }
}

function providerColumn() {
  const cell = (row) => row.provider || html`<span class="muted">none was called</span>`
  return { label: 'Provider', sort: (row) => row.provider, head: true, cell }
}

/**
 * Each grouping has these items: its value in the URL and the API, the button's label, words for the grouped things,
 * the column that names a row, and the row's key.
 */
export const GROUPINGS = [
  { by: 'model', label: 'Model', words: 'model', head: modelColumn, keyOf: (row) => row.model },
  { by: 'key', label: 'API key', words: 'API key', head: keyColumn, keyOf: (row) => row.keyId },
  { by: 'provider', label: 'Provider', words: 'provider', head: providerColumn, keyOf: (row) => row.provider },
]

export const groupingOf = (by) => GROUPINGS.find((one) => one.by === by) ?? GROUPINGS[0]
