// A key that was found by its value: its data, its recent requests, and the actions that revoke it.
import { useState } from 'preact/hooks'
import { get, path } from '../api.js'
import { Badge, Status } from '../components/badge.js'
import { Id, ModelName } from '../components/ids.js'
import { Money } from '../components/money.js'
import { Loaded, Time } from '../components/states.js'
import { Facts } from '../components/table.js'
import { masked } from '../format.js'
import { html } from '../html.js'
import { causeWords } from '../outcomes.js'
import { KeyDialog } from '../pages/key-dialogs.js'
import { useResource } from '../resource.js'
import { to } from '../router.js'
import { useViewer, VIEWER_REASON } from '../session.js'
import { zoneWords } from '../zone.js'
import { firstOf, orNull } from './sources.js'

const RECENT = 10
const UNKNOWN =
  'No key of this deployment has this value. The key may be deleted, mistyped or of another deployment. Only its hash was sent.'

/**
 * Looks up a key by the hash of its value.
 * @param {string | undefined} hash
 * @param {() => void} onClose closes the palette
 */
export function useFoundKey(hash, onClose) {
  const key = useResource(async (signal) => (hash ? await orNull(get(path`keys/${hash}`, { signal })) : null), [hash])
  const revocation = useRevocation(key.reload)
  const viewer = useViewer()
  const found = key.stale ? null : key.data
  const group = { label: 'Key', items: [], loading: key.loading, error: key.error }
  if (hash && !key.stale && !key.loading && !key.error && !found) group.note = UNKNOWN
  if (found) group.items = keyItems(found, { viewer, open: revocation.open })
  if (found && viewer) group.note = VIEWER_REASON
  const dialog = found && revocation.dialogOf(found, onClose)
  return { found, group, dialog, result: revocation.result }
}

function keyItems({ project, key }, { viewer, open }) {
  const action = (kind, label) => ({ id: kind, label, run: () => open(kind), keepOpen: true })
  const change = []
  if (key.status !== 'inactive') change.push(action('deactivate', 'Deactivate this key now'))
  if (!key.replacedBy) change.push(action('rotate', 'Rotate: create a key in its place'))
  return [
    ...(viewer ? [] : change),
    { id: 'key-page', label: 'Open the key’s page', href: to('projects', project.id, 'keys', key.id) },
    {
      id: 'key-requests',
      label: 'Show its recent requests',
      href: `${to('projects', project.id, 'requests')}?key=${key.id}`,
    },
  ]
}

/** The dialogs that revoke a key and the sentence that states the result. @param {() => void} onChanged */
export function useRevocation(onChanged) {
  const [kind, open] = useState('')
  const [result, setResult] = useState(null)
  const dialogOf = ({ project, key }, onLeave) => {
    if (!kind) return null
    const done = () => {
      setResult({ kind, key: key.id, at: new Date().toISOString() })
      onChanged()
    }
    return html`<${KeyDialog} project=${project} dialog=${{ kind, key }} onLeave=${onLeave} onClose=${() => open('')} onDone=${done} />`
  }
  return { open, dialogOf, result }
}

/** The key, the result of its revocation, and its recent requests. */
export function FoundKey({ of: { found, result } }) {
  if (!found) return null
  const { project, key } = found
  const rows = [
    ['Name', html`<a href=${to('projects', project.id, 'keys', key.id)}>${key.name}</a>`],
    [
      'Project',
      html`<a href=${to('projects', project.id)}>${project.name}</a> ${project.status === 'archived' && html`<${Badge} of="archived" />`}`,
    ],
    ['Key', html`<code>${masked(key)}</code> ${key.kind}, ${key.environment}`],
    ['Status', html`<${Badge} of=${key.status} />`],
    ['Last used', html`<${Time} at=${key.lastUsedAt} ago />`],
  ]
  return html`<section class="found-key" aria-label="Found key">
    <${Facts} rows=${rows} />
    <${Revoked} of=${key} result=${result} />
    <${KeyTrace} project=${project} of=${key} />
  </section>`
}

/** Says what the revocation did. */
export function Revoked({ of: key, result }) {
  const known = result?.key === key.id ? result : null
  return html`<div role="status" class="revoked">${
    known &&
    known.kind === 'deactivate' &&
    html`<p>
      Deactivated at <${Time} at=${known.at} /> ${zoneWords()}. Requests with this key are rejected with 401 from now on.</p>`
  }
    ${known && known.kind === 'rotate' && html`<p>Rotated. The new key has the same settings.</p>`}</div>`
}

/** A key's recent requests, newest first. */
export function KeyTrace({ project, of: key }) {
  const list = useResource(
    (signal) =>
      firstOf(path`projects/${project.id}/requests`, 'requests', { query: { key: key.id }, wanted: RECENT, signal }),
    [key.id],
  )
  return html`<h3>Recent requests</h3>
    <${Loaded} of=${list} what="its recent requests" rows=${2}>${({ items, more }) =>
      items.length === 0
        ? html`<p class="muted">None among the recent requests of the project.</p>`
        : html`<ul class="trace">${items.map(
            (request) => html`<li key=${request.requestId}>
            <${Time} at=${request.time} ago /> <${Status} code=${request.status} /> ${causeWords(request.cause)}
            <${ModelName} of=${request.model} none="no model" /> <${Money} of=${request.cost} />
            ${request.userAgent && html`<span class="muted">${request.userAgent.split(' ')[0]}</span>`}
            <${Id} id=${request.requestId} project=${project.id} /></li>`,
          )}</ul>
          ${more && html`<p><a href=${`${to('projects', project.id, 'requests')}?key=${key.id}`}>Show all its recent requests</a></p>`}`}<//>`
}
