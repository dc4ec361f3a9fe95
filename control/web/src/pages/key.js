// One API key: its details, settings and actions.
import { useState } from 'preact/hooks'
import { get, path } from '../api.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { Id } from '../components/ids.js'
import { Card, Page } from '../components/page.js'
import { RecordForm } from '../components/record-form.js'
import { Failure, Loaded, Time } from '../components/states.js'
import { Facts } from '../components/table.js'
import { masked } from '../format.js'
import { html } from '../html.js'
import { KeyTrace, Revoked, useRevocation } from '../palette/found-key.js'
import { useResource } from '../resource.js'
import { navigate, to } from '../router.js'
import { useViewer } from '../session.js'
import { zoned } from '../zone.js'
import { CreditsCard } from './credits.js'
import { KeyDialog } from './key-dialogs.js'
import { draftOf, fieldsOf, KEY_FIELDS, KeyFields } from './key-form.js'
import { KeyActions, LastUsed } from './keys.js'

const FORM = { draftOf, fieldsOf }

export function KeyPage({ project, params }) {
  const key = useResource((signal) => get(path`projects/${project.id}/keys/${params.key}`, { signal }), [params.key])
  const [dialog, setDialog] = useState(null)
  const done = (kind) => (kind === 'delete' ? navigate(to('projects', project.id, 'keys')) : key.reload())
  const actions = key.data && html`<${KeyActions} row=${key.data} open=${setDialog} />`
  if (key.error?.status === 404) {
    return html`<${Page} title="Key" of=${project.name}><${Failure} error=${key.error} what="the key" />
      <p><a href=${to('projects', project.id, 'keys')}>View all API keys</a></p><//>`
  }
  return html`<${Page} title=${key.data ? `Key ${key.data.name}` : 'Key'} of=${project.name} actions=${actions}>
    <${Loaded} of=${key} what="the key">${(data) => html`
      <${Card} title="Details"><${KeyFacts} of=${data} project=${project} /><//>
      <${Card} title="If this key leaked"><${Leak} project=${project} of=${data} reload=${key.reload} /><//>
      <${Card} title="Settings"><${EditKey} project=${project} of=${data} set=${key.set} /><//>
      <${CreditsCard} at=${path`projects/${project.id}/keys/${data.id}`} of=${data} set=${key.set} />`}<//>
    ${dialog && html`<${KeyDialog} project=${project} dialog=${dialog} onClose=${() => setDialog(null)} onDone=${done} />`}
  <//>`
}

function KeyFacts({ of: key, project }) {
  const rows = [
    ['Key', html`<code>${masked(key)}</code>`],
    ['Status', html`<${Badge} of=${key.status} />`],
    ['Kind', `${key.kind}, ${key.environment}`],
    [zoned('Created'), html`<${Time} at=${key.createdAt} />`],
    ['Last used', html`<${LastUsed} of=${key} />`],
    [zoned('Expires'), key.expiresAt ? html`<${Time} at=${key.expiresAt} />` : 'never'],
    ['ID', html`<code>${key.id}</code>`],
  ]
  if (key.replacedBy) rows.push(['Replaced by', html`<${Id} id=${key.replacedBy} project=${project.id} />`])
  return html`<${Facts} rows=${rows} />`
}

/** Revokes the key and shows what it was used for. */
function Leak({ project, of: key, reload }) {
  const revocation = useRevocation(reload)
  const viewer = useViewer()
  const active = key.status !== 'inactive'
  return html`<p>${active ? 'Deactivate the key: requests with it are rejected with 401 at once.' : 'The key is deactivated: requests with it are rejected with 401.'} Then rotate it: a new key gets its settings.</p>
    <div class="buttons">
      ${active && html`<${Button} look="danger" changes onClick=${() => revocation.open('deactivate')}>Revoke now<//>`}
      ${!key.replacedBy && html`<${Button} changes onClick=${() => revocation.open('rotate')}>Create a key in its place<//>`}
    </div>
    <${Revoked} of=${key} result=${revocation.result} />
    <${KeyTrace} project=${project} of=${key} />
    ${!viewer && revocation.dialogOf({ project, key }, () => {})}`
}

function EditKey({ project, of: key, set }) {
  return html`<${RecordForm} at=${path`projects/${project.id}/keys/${key.id}`} record=${key} set=${set} form=${FORM} shown=${KEY_FIELDS}
    saved=${({ name }) => `Key ${name} saved`}>${(fields) => html`<${KeyFields} ...${fields} kind=${key.kind} plan=${project.plan} environment=${key.environment} />`}<//>`
}
