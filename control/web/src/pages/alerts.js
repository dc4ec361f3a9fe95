// The webhook that receives alerts about budgets and failures.
import { useState } from 'preact/hooks'
import { get, patch } from '../api.js'
import { Button } from '../components/button.js'
import { Conflict } from '../components/conflict.js'
import { SecretOnce } from '../components/copy.js'
import { Confirm } from '../components/dialog.js'
import { Form, FormError, TextField, wrongWith } from '../components/form.js'
import { Card } from '../components/page.js'
import { orReload, useDraft } from '../draft.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction } from '../resource.js'

const FORM = {
  draftOf: (record) => ({ url: record.alerts?.url ?? '' }),
  fieldsOf: ({ url }) => ({ url: url.trim() }),
}

/** @param {{at: string, record: object, set: (record: any) => void}} props  record: a project or a group; at: its path below /api/admin/ */
export function AlertsCard({ at, record, set }) {
  const form = useDraft(record, FORM)
  const [secret, setSecret] = useState(null)
  const [removing, setRemoving] = useState(false)
  const load = () => get(at)
  const take = (saved) => {
    form.restart(saved)
    set(saved)
    setSecret(saved.alerts?.secret ?? null)
  }
  const { busy, error, run, clear } = useAction(async () => {
    take(await patch(at, { alerts: form.changes(), version: form.base.version }))
    notify('Webhook saved')
  })
  const takeTheirs = (theirs) => {
    form.follow(theirs)
    set(theirs)
    clear()
  }
  const remove = () => orReload(() => patch(at, { alerts: null, version: record.version }), load, set)
  const removed = (saved) => {
    take(saved)
    notify('Webhook removed')
  }
  const { url } = form.draft
  const unchanged = url.trim() === '' || url.trim() === record.alerts?.url
  return html`<${Card} title="Alerts">
    <p>We POST signed alerts here, for example at 80% and 100% of budget.</p>
    ${secret && html`<${SecretOnce} label="Webhook signing secret" value=${secret} />`}
    <${Form} onSubmit=${run} edited=${!form.clean}>
      <${TextField} label="Webhook URL" type="url" inputmode="url" placeholder="https://" value=${url} onValue=${(url) => form.change({ url })} wrong=${wrongWith(error, 'alerts.url')}
        hint=${record.alerts ? `Signing secret: …${record.alerts.secretLast4}. Changing the URL creates a new secret.` : 'No webhook configured.'} />
      ${
        error?.status === 409
          ? html`<${Conflict} load=${load} onLoaded=${takeTheirs} />`
          : html`<${FormError} error=${error} shown=${['alerts']} />`
      }
      <div class="buttons">
        <${Button} look="primary" type="submit" changes busy=${busy} idle=${unchanged}>Save webhook<//>
        ${record.alerts && html`<${Button} changes onClick=${() => setRemoving(true)}>Remove webhook<//>`}
      </div>
    <//>
    ${
      removing &&
      html`<${Confirm} title="Remove the webhook?" action="Remove webhook" danger act=${remove}
      onDone=${removed} onClose=${() => setRemoving(false)}><p>Alerts to <code>${record.alerts?.url}</code> stop, and the signing secret is deleted.</p><//>`
    }
  <//>`
}
