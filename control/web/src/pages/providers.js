// The providers' credentials and health, as seen by one gateway instance.
import { get } from '../api.js'
import { Badge, Readiness } from '../components/badge.js'
import { ModelName } from '../components/ids.js'
import { Page } from '../components/page.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { Table } from '../components/table.js'
import { duration } from '../format.js'
import { html } from '../html.js'
import { useResource } from '../resource.js'

const COLUMNS = [
  { label: 'Provider', head: true, cell: (provider) => provider.name },
  { label: 'API formats', cell: (provider) => provider.wires.join(', ') },
  { label: 'Credentials', cell: (provider) => html`<${Readiness} ready=${provider.ready} />` },
  { label: 'Recently called models', cell: (provider) => html`<${Seen} models=${provider.models} />` },
]

export function ProvidersPage() {
  const providers = useResource((signal) => get('providers', { signal }), [])
  const lead = 'Health as seen by one gateway instance; others may differ.'
  return html`<${Page} title="Provider status" lead=${lead} actions=${html`<${Refresh} of=${providers} />`}>
    <${Loaded} of=${providers} what="providers" rows=${8}>${(data) => html`
      ${!data.observed && html`<p class="banner">The gateway did not report its providers’ status. Refresh in a moment.</p>`}
      ${
        data.providers.length === 0
          ? html`<${Empty} title="No providers in the catalog"><p>Add providers with POSTERN_CATALOG.</p><//>`
          : html`<${Table} caption="Providers" columns=${COLUMNS} rows=${data.providers} rowKey=${(provider) => provider.name} />`
      }`}<//>
  <//>`
}

function Seen({ models }) {
  if (models.length === 0) return html`<span class="muted">none</span>`
  return html`<ul class="seen">${models.map(
    ({ model, state, latencyMs }) =>
      html`<li key=${model}><${ModelName} of=${model} /> <${Badge} of=${state} />${latencyMs !== null && html` <span class="muted">${duration(latencyMs)}</span>`}</li>`,
  )}</ul>`
}
