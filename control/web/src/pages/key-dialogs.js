// What is asked before a key is changed from outside its form.
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

/** @param {{project: object, dialog: {kind: string, key: object}, onClose: () => void, onDone: (kind: string) => void}} props */
export function KeyDialog({ project, dialog, onClose, onDone }) {
  const { kind, key } = dialog
  const at = path`projects/${project.id}/keys/${key.id}`
  const name = html`<strong>${key.name}</strong> (<code>${masked(key)}</code>)`
  const done = (text) => {
    notify(text)
    onDone(kind)
  }
  if (kind === 'rotate') return html`<${Rotate} ...${{ project, row: key, at, name, onClose, onDone }} />`
  if (kind === 'deactivate') {
    return html`<${Confirm} title="Deactivate this key?" action="Deactivate" act=${() => post(`${at}/deactivate`)} onClose=${onClose}
      onDone=${() => done(`Key ${key.name} deactivated`)}><p>Requests with ${name} are refused with 401 at once, until it is reactivated.</p><//>`
  }
  if (kind === 'reactivate') {
    return html`<${Confirm} title="Reactivate this key?" action="Reactivate" act=${() => post(`${at}/reactivate`)} onClose=${onClose}
      onDone=${() => done(`Key ${key.name} reactivated`)}><p>Requests with ${name} succeed again.</p><//>`
  }
  return html`<${Confirm} title="Delete this key?" action="Delete for good" danger act=${() => remove(at)} onClose=${onClose}
    onDone=${() => done(`Key ${key.name} deleted`)}><p>${name} is gone for good, and requests with it are refused with 401. Its usage stays in the reports. To be able to take it back, deactivate it instead.</p><//>`
}

function Rotate({ project, row, at, name, onClose, onDone }) {
  const [grace, setGrace] = useState(String(DEFAULT_GRACE_S))
  const [made, setMade] = useState(null)
  if (made) return html`<${Rotated} ...${{ project, made, grace: Number(grace), onClose }} />`
  const act = async () => {
    const fresh = await post(`${at}/rotate`, { graceSeconds: Number(grace) })
    if (fresh.kind === 'gateway') rememberKey({ project: project.id, key: fresh, value: fresh.value })
    setMade(fresh)
  }
  const done = () => {
    notify(`Key ${row.name} rotated`)
    onDone('rotate')
  }
  return html`<${Confirm} title="Rotate this key?" action="Rotate" act=${act} onDone=${done} onClose=${onClose} stays>
    <p>A new key takes the place of ${name}, with the same settings. The old one goes on working for a while, so that you can deploy the new one.</p>
    <${SelectField} label="The old one works for another" value=${grace} onValue=${setGrace}
      options=${GRACES_S.map((seconds) => [String(seconds), seconds === 0 ? 'moment: it ends at once' : span(seconds)])} />
  <//>`
}

function Rotated({ project, made, grace, onClose }) {
  return html`<${Dialog} title="Key rotated" kept onClose=${onClose}>
    <${SecretOnce} label=${`Value of the new key ${made.name}`} value=${made.value}>
      <p>${grace === 0 ? 'The old key has ended.' : `The old key works for another ${span(grace)}.`}</p>
      <div class="buttons">
        <${ButtonLink} href=${to('projects', project.id, 'keys', made.id)} look="primary" onClick=${onClose}>I have kept it<//>
      </div>
    <//>
  <//>`
}
