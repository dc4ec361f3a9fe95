// The project's own keys for providers. They are write-only: the API returns only the last four characters of a key.
import { useRef, useState } from 'preact/hooks'
import { get, path, put, remove } from '../api.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { CodeBlock } from '../components/copy.js'
import { Confirm } from '../components/dialog.js'
import { Form, FormError, SelectField, TextField, wrongWith } from '../components/form.js'
import { Card, focusHeading, Page } from '../components/page.js'
import { Empty, Loaded, Time } from '../components/states.js'
import { Table } from '../components/table.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction, useResource } from '../resource.js'

const SECRET = 'POSTERN_MASTER_KEYS'
const LEAD =
  'With a project’s own key, the provider bills the owner of that key. Without one, requests use the deployment’s key.'
const SET_COMMANDS = `npx wrangler secret put ${SECRET}
npx wrangler secret put ${SECRET} -c worker/control/wrangler.toml
`

export function ProviderKeysPage({ project }) {
  const keys = useResource((signal) => get(path`projects/${project.id}/provider-keys`, { signal }), [project.id])
  const [provider, setProvider] = useState('')
  const field = useRef(null)
  const replace = (name) => {
    setProvider(name)
    field.current.querySelector('input').focus()
  }
  return html`<${Page} title="Provider keys" of=${project.name} lead=${LEAD}>
    <${Loaded} of=${keys} what="provider keys">${(data) => html`
      ${!data.enabled && html`<${Off} />`}
      <${List} data=${data} project=${project} reload=${keys.reload} onReplace=${replace} />
      ${data.enabled && html`<div ref=${field}><${SetKey} ...${{ data, project, provider, setProvider, reload: keys.reload }} /></div>`}`}<//>
  <//>`
}

function Off() {
  return html`<${Card} title="Provider keys are off">
    <p>Provider keys are encrypted with a master key, and this deployment has none. Set the secret <code>${SECRET}</code> to the same value on both Workers, then reload this page.</p>
    <${CodeBlock} title="Commands" text=${SET_COMMANDS} />
  <//>`
}

function List({ data, project, reload, onReplace }) {
  const [removing, setRemoving] = useState(null)
  if (data.providerKeys.length === 0) {
    return (
      data.enabled &&
      html`<${Empty} title="No provider keys yet"><p>Requests use the deployment’s keys. Set the project’s own below.</p><//>`
    )
  }
  const act = () => remove(path`projects/${project.id}/provider-keys/${removing.provider}`)
  const done = () => {
    notify(`Key for ${removing.provider} removed`)
    focusHeading()
    reload()
  }
  return html`<${Table} caption="Provider keys" rows=${data.providerKeys} rowKey=${(entry) => entry.provider} columns=${columns(data.enabled, onReplace, setRemoving)} />
    ${
      removing &&
      html`<${Confirm} title=${`Remove the key for ${removing.provider}?`} action="Remove key" danger act=${act} onDone=${done}
      onClose=${() => setRemoving(null)}><p>Requests to ${removing.provider} will use the deployment’s key, if there is one.</p><//>`
    }`
}

function columns(enabled, onReplace, onRemove) {
  return [
    { label: 'Provider', head: true, cell: (entry) => entry.provider },
    { label: 'Key', cell: (entry) => html`<code>…${entry.last4}</code>` },
    { label: 'Updated', time: true, cell: (entry) => html`<${Time} at=${entry.setAt} />` },
    { label: 'Master key ID', cell: (entry) => html`<${MasterKey} of=${entry} />` },
    {
      label: 'Actions',
      actions: true,
      cell: (entry) => html`<span class="row-actions">
        ${enabled && html`<${Button} look="small" changes onClick=${() => onReplace(entry.provider)}>Replace<span class="visually-hidden"> the key for ${entry.provider}</span><//>`}
        <${Button} look="small danger-text" changes onClick=${() => onRemove(entry)}>Remove<span class="visually-hidden"> the key for ${entry.provider}</span><//>
      </span>`,
    },
  ]
}

/** The ID of the master key that encrypted the provider key. Without it, the provider key cannot be decrypted. */
function MasterKey({ of: entry }) {
  return html`<code>${entry.masterKeyId}</code>${entry.usable === false && html` <${Badge} of="missing: replace this key" look="bad" />`}`
}

function SetKey({ data, project, provider, setProvider, reload }) {
  const [key, setKey] = useState('')
  const selected = provider || data.providers[0] || ''
  const exists = data.providerKeys.some((entry) => entry.provider === selected)
  const { busy, error, run } = useAction(async () => {
    await put(path`projects/${project.id}/provider-keys/${selected}`, { key: key.trim() })
    setKey('')
    notify(`Key for ${selected} ${exists ? 'replaced' : 'set'}`)
    reload()
  })
  return html`<${Card} title="Set or replace a key"><${Form} onSubmit=${run} edited=${key.trim() !== ''} autocomplete="off">
    <div class="columns">
      <${SelectField} label="Provider" value=${selected} onValue=${setProvider} options=${data.providers.map((name) => [name, name])} />
      <${TextField} label=${`Key for ${selected}`} type="password" autocomplete="off" spellcheck=${false} value=${key} onValue=${setKey}
        wrong=${wrongWith(error, 'key')} hint="Stored encrypted and never shown again." />
    </div>
    <${FormError} error=${error} shown=${['key']} />
    <div class="buttons"><${Button} look="primary" type="submit" changes busy=${busy} disabled=${key.trim() === ''}>${exists ? 'Replace key' : 'Set key'}<//></div>
  <//><//>`
}
