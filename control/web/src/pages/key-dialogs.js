// The confirmation dialogs for a key's actions.
import { useState } from 'preact/hooks'
import { path, post, remove } from '../api.js'
import { ButtonLink } from '../components/button.js'
import { SecretOnce } from '../components/copy.js'
import { Confirm, Dialog } from '../components/dialog.js'
import { SelectField } from '../components/form.js'
import { masked, span } from '../format.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { to } from '../router.js'
import { rememberKey } from '../session.js'

const GRACES_S = [0, 3600, 86_400, 604_800, 2_592_000]
const DEFAULT_GRACE_S = 86_400

/**
 * @param {{project: object, dialog: {kind: string, key: object}, onClose: () => void, onDone: (kind: string) => void,
 *   onLeave?: () => void}} props  onLeave: called when the user goes to the page of a new key
 */
export function KeyDialog({ project, dialog, onClose, onDone, onLeave = () => {} }) {
  const { kind, key } = dialog
  const at = path`projects/${project.id}/keys/${key.id}`
  const name = html`<strong>${key.name}</strong> (<code>${masked(key)}</code>)`
  const done = (text) => {
    notify(text)
    onDone(kind)
  }
  if (kind === 'rotate') return html`<${Rotate} ...${{ project, row: key, at, name, onClose, onDone, onLeave }} />`
  if (kind === 'deactivate') {
    return html`<${Confirm} title="Deactivate this key?" action="Deactivate" act=${() => post(`${at}/deactivate`)} onClose=${onClose}
      onDone=${() => done(`Key ${key.name} deactivated`)}><p>Requests with ${name} are rejected with 401 until you reactivate the key.</p><//>`
  }
  if (kind === 'reactivate') {
    return html`<${Confirm} title="Reactivate this key?" action="Reactivate" act=${() => post(`${at}/reactivate`)} onClose=${onClose}
      onDone=${() => done(`Key ${key.name} reactivated`)}><p>Requests with ${name} are accepted again.</p><//>`
  }
  return html`<${Confirm} title="Delete this key?" action="Delete key" danger act=${() => remove(at)} onClose=${onClose}
    onDone=${() => done(`Key ${key.name} deleted`)}><p>This permanently deletes ${name}. Requests with it are rejected with 401; its usage stays in reports. If you may need the key again, deactivate it instead.</p><//>`
}

function Rotate({ project, row, at, name, onClose, onDone, onLeave }) {
  const [grace, setGrace] = useState(String(DEFAULT_GRACE_S))
  const [created, setCreated] = useState(null)
  const [inactive] = useState(row.status === 'inactive')
  const graceSeconds = inactive ? 0 : Number(grace)
  if (created) return html`<${Rotated} ...${{ project, created, grace: graceSeconds, onClose, onLeave }} />`
  const act = async () => {
    const key = await post(`${at}/rotate`, { graceSeconds })
    if (key.kind === 'gateway') rememberKey({ project: project.id, key, value: key.value })
    setCreated(key)
  }
  const done = () => {
    notify(`Key ${row.name} rotated`)
    onDone('rotate')
  }
  return html`<${Confirm} title="Rotate this key?" action="Rotate" act=${act} onDone=${done} onClose=${onClose} keepOpen>
    <p>Creates a new key with the same settings to replace ${name}. ${inactive ? 'The old key stays deactivated.' : 'The old key keeps working for the grace period, so you have time to deploy the new one.'}</p>
    ${
      !inactive &&
      html`<${SelectField} label="Grace period" value=${grace} onValue=${setGrace}
      options=${GRACES_S.map((seconds) => [String(seconds), seconds === 0 ? 'None: the old key stops working now' : span(seconds)])} />`
    }
  <//>`
}

function Rotated({ project, created, grace, onClose, onLeave }) {
  const leave = () => {
    onClose()
    onLeave()
  }
  return html`<${Dialog} title="Key rotated" persistent onClose=${onClose}>
    <${SecretOnce} label=${`New API key “${created.name}”`} value=${created.value}>
      <p>${grace === 0 ? 'The old key no longer works.' : `The old key stops working in ${span(grace)}.`}</p>
      <div class="buttons">
        <${ButtonLink} href=${to('projects', project.id, 'keys', created.id)} look="primary" onClick=${leave}>I’ve saved this key<//>
      </div>
    <//>
  <//>`
}
