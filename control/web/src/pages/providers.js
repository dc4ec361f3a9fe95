// How the providers are doing, as the gateway sees them.
import { get } from '../api.js'
import { Badge, Readiness } from '../components/badge.js'
import { Page } from '../components/page.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { Table } from '../components/table.js'
import { duration } from '../format.js'
import { html } from '../html.js'
import { useResource } from '../resource.js'

const COLUMNS = [
  { label: 'Provider', head: true, cell: (provider) => provider.name },
  { label: 'Wire format', cell: (provider) => provider.wire },
  { label: 'Key', cell: (provider) => html`<${Readiness} ready=${provider.ready} />` },
  { label: 'Models seen', wide: true, cell: (provider) => html`<${Seen} models=${provider.models} />` },
]

export function ProvidersPage() {
  const providers = useResource((signal) => get('providers', { signal }), [])
  const lead =
    'As one isolate of the gateway sees them: others may have met other failures. Only models that it has asked are listed.'
  return html`<${Page} title="Provider status" lead=${lead} actions=${html`<${Refresh} of=${providers} />`}>
    <${Loaded} of=${providers} what="the providers" rows=${8}>${(data) => html`
      ${!data.observed && html`<p class="banner">The gateway could not be asked, so what is ready and healthy is not known. Refresh in a moment.</p>`}
      ${
        data.providers.length === 0
          ? html`<${Empty} title="The catalog names no providers"><p>Add some with POSTERN_CATALOG.</p><//>`
          : html`<${Table} caption="Providers" columns=${COLUMNS} rows=${data.providers} rowKey=${(provider) => provider.name} />`
      }`}<//>
  <//>`
}

function Seen({ models }) {
  if (models.length === 0) return html`<span class="muted">none yet</span>`
  return html`<ul class="seen">${models.map(
    ({ model, state, latencyMs }) =>
      html`<li key=${model}>${model} <${Badge} of=${state} />${latencyMs !== null && html` <span class="muted">${duration(latencyMs)}</span>`}</li>`,
  )}</ul>`
}
