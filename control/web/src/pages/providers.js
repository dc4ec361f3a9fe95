// The providers: their credentials, and their health according to the recorded attempts of all gateway instances.
import { get } from '../api.js'
import { Readiness } from '../components/badge.js'
import { Page } from '../components/page.js'
import { ProviderTable } from '../components/providers.js'
import { RangeBar, useRange } from '../components/range.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { html } from '../html.js'
import { joined } from '../overview.js'
import { OVERVIEW_RANGES, shownRange } from '../ranges.js'
import { useResource } from '../resource.js'

const LEAD =
  'Health by the attempts that all gateway instances have recorded. The state is that of the last 10 to 20 minutes, the figures are those of the range.'

/** Columns from the catalog and from the deployment's settings. */
const SETUP = [
  { label: 'API formats', cell: (row) => row.wires?.join(', ') ?? html`<span class="muted">not in the catalog</span>` },
  { label: 'Credentials', cell: (row) => html`<${Readiness} ready=${row.ready} />` },
]

export function ProvidersPage() {
  const selected = useRange(OVERVIEW_RANGES, '24h')
  const { name } = selected.range
  const providers = useResource((signal) => load(name, signal), [name])
  return html`<${Page} title="Provider status" lead=${LEAD} actions=${html`<${Refresh} of=${providers} />`}>
    <${RangeBar} of=${selected} shown=${providers.stale ? undefined : providers.data?.range} />
    <${Loaded} of=${providers} what="providers" rows=${8}>${({ observed, rows }) => html`
      ${!observed && html`<p class="banner">The gateway did not report which providers have credentials. Refresh in a moment.</p>`}
      ${
        rows.length === 0
          ? html`<${Empty} title="No providers in the catalog"><p>Add providers with POSTERN_CATALOG.</p><//>`
          : html`<${ProviderTable} rows=${rows} more=${SETUP} order="sort" />`
      }`}<//>
  <//>`
}

async function load(range, signal) {
  const [setup, overview] = await Promise.all([
    get('providers', { signal }),
    get('overview', { query: { range }, signal }),
  ])
  return { observed: setup.observed, range: shownRange(overview), rows: joined(setup.providers, overview.providers) }
}
