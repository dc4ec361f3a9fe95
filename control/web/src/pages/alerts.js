// The webhook that hears of budgets and failures.
import { useState } from 'preact/hooks'
import { patch, path } from '../api.js'
import { Button } from '../components/button.js'
import { SecretOnce } from '../components/copy.js'
import { Confirm } from '../components/dialog.js'
import { Form, FormError, TextField, wrongWith } from '../components/form.js'
import { Card } from '../components/page.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction } from '../resource.js'

export function AlertsCard({ project, setProject }) {
  const [url, setUrl] = useState(project.alerts?.url ?? '')
  const [secret, setSecret] = useState(null)
  const [removing, setRemoving] = useState(false)
  const at = path`projects/${project.id}`
  const take = (saved) => {
    setProject(saved)
    setUrl(saved.alerts?.url ?? '')
    setSecret(saved.alerts?.secret ?? null)
  }
  const { busy, error, run } = useAction(async () => {
    take(await patch(at, { alerts: { url: url.trim() }, version: project.version }))
    notify('Webhook saved')
  })
  const removed = (saved) => {
    take(saved)
    notify('Webhook removed')
  }
  const unchanged = url.trim() === '' || url.trim() === project.alerts?.url
  return html`<${Card} title="Alerts">
    <p>What needs attention, such as a budget that runs out, is sent to this address by POST, with a signature.</p>
    ${secret && html`<${SecretOnce} label="The webhook’s signing secret" value=${secret} />`}
    <${Form} onSubmit=${run}>
      <${TextField} label="Webhook address" type="url" inputmode="url" placeholder="https://" value=${url} onValue=${setUrl} wrong=${wrongWith(error, 'alerts')}
        hint=${project.alerts ? `Its secret ends with ${project.alerts.secretLast4}. Another address gets another secret.` : 'No webhook is set.'} />
      <${FormError} error=${error} shown=${['alerts']} />
      <div class="buttons">
        <${Button} look="primary" type="submit" changes busy=${busy} disabled=${unchanged}>Save webhook<//>
        ${project.alerts && html`<${Button} changes onClick=${() => setRemoving(true)}>Remove webhook<//>`}
      </div>
    <//>
    ${
      removing &&
      html`<${Confirm} title="Remove the webhook?" action="Remove webhook" danger act=${() => patch(at, { alerts: null, version: project.version })}
      onDone=${removed} onClose=${() => setRemoving(false)}><p>Nothing is sent to <code>${project.alerts?.url}</code> any more, and its secret is forgotten.</p><//>`
    }
  <//>`
}
