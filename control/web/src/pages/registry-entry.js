import { useId, useState } from 'preact/hooks'
import { get, patch, path, post } from '../api.js'
import { Badge } from '../components/badge.js'
import { Button, ButtonLink } from '../components/button.js'
import { Conflict } from '../components/conflict.js'
import { Confirm } from '../components/dialog.js'
import { ChecksField, Form, FormError, SelectField, TextField, wrongWith } from '../components/form.js'
import { ModelName, WithIds } from '../components/ids.js'
import { ModelList } from '../components/models.js'
import { Card, Page } from '../components/page.js'
import { Failure, Loaded, Time } from '../components/states.js'
import { Facts, Table } from '../components/table.js'
import { orReload, useDraft } from '../draft.js'
import { count } from '../format.js'
import { html } from '../html.js'
import { useList } from '../lists.js'
import { notify } from '../notices.js'
import { draftOf, ENTRY_FIELDS, fieldsOf, NEEDS_REASON, RISK_TIERS, transitionsOf } from '../registry.js'
import { useAction, useResource } from '../resource.js'
import { navigate, to } from '../router.js'
import { same } from '../values.js'
import { zoned } from '../zone.js'
import { EntryState, riskTier } from './registry.js'
import { useKeyNames } from './violations.js'

const FORM = { draftOf, fieldsOf }
/** Explains what each state means for requests. */
const EFFECTS = {
  blocked: 'Requests for this model are rejected.',
  retired: 'Requests for this model are rejected.',
  deprecated: 'Requests still pass. Responses have a Deprecation header and name the successor.',
  approved: 'All keys of the project may use this model.',
  restricted: 'Only the selected keys may use this model.',
  pending: 'The model waits for approval.',
}

export function NewEntryPage({ project }) {
  const id = useId()
  const [model, setModel] = useState('')
  const [draft, setDraft] = useState(draftOf())
  const { busy, error, run } = useAction(async () => {
    const given = Object.entries(fieldsOf(draft)).filter(([, value]) => value !== null && value.length > 0)
    const entry = await post(path`projects/${project.id}/models-registry`, {
      model: model.trim(),
      ...Object.fromEntries(given),
    })
    notify(`Model ${entry.model} added`)
    navigate(to('projects', project.id, 'registry', entry.id))
  })
  return html`<${Page} title="New model" of=${project.name}><${Card}><${Form} onSubmit=${run} edited=${model !== '' || !same(draft, draftOf())}>
    <${TextField} label="Model" required list=${id} value=${model} onValue=${setModel} wrong=${wrongWith(error, 'model')} hint="A model of the catalog." />
    <${ModelList} id=${id} tiers=${false} />
    <${EntryFields} draft=${draft} set=${(changes) => setDraft({ ...draft, ...changes })} error=${error} />
    <${FormError} error=${error} shown=${ENTRY_FIELDS} />
    <div class="buttons">
      <${Button} look="primary" type="submit" changes busy=${busy}>Add model<//>
      <${ButtonLink} href=${to('projects', project.id, 'registry')}>Cancel<//>
    </div>
  <//><//><//>`
}

export function RegistryEntryPage({ project, setProject, params }) {
  const at = path`projects/${project.id}/models-registry/${params.entry}`
  const entry = useResource((signal) => get(at, { signal }), [at])
  const all = html`<p><a href=${to('projects', project.id, 'registry')}>View all models</a></p>`
  if (entry.error?.status === 404) {
    return html`<${Page} title="Model" of=${project.name}><${Failure} error=${entry.error} what="the model" />${all}<//>`
  }
  return html`<${Page} title=${entry.data ? `Model ${entry.data.model}` : 'Model'} of=${project.name}>
    <${Loaded} of=${entry} what="the model">${(data) => html`
      <${StateCard} of=${data} at=${at} set=${entry.set} project=${project} setProject=${setProject} />
      ${data.version > 0 && html`<${Card} title="Record"><${Edit} of=${data} at=${at} set=${entry.set} /><//>`}
      <${HistoryCard} of=${data} project=${project} />`}<//>
    ${all}
  <//>`
}

function StateCard({ of: entry, at, set, project, setProject }) {
  const [next, setNext] = useState(null)
  const rows = [
    ['Model', html`<${ModelName} of=${entry.model} />`],
    ['State', html`<${EntryState} of=${entry.state} />`],
    ['Risk tier', riskTier(entry.riskTier)],
    [
      'Review date',
      html`${entry.reviewDate?.slice(0, 10) ?? 'none'}${entry.reviewOverdue && html` <${Badge} of="overdue" look="bad" />`}`,
    ],
    [zoned('Created'), html`<${Time} at=${entry.createdAt} />`],
    [zoned('Updated'), html`<${Time} at=${entry.updatedAt} />`],
  ]
  if (entry.requests !== undefined) {
    const seen = entry.requests > 0 ? `, ${entry.firstSeen} to ${entry.lastSeen}` : ''
    rows.push(['Requests in 90 days', `${count(entry.requests)} served${seen}`])
  }
  if (entry.keys.length > 0) rows.push(['Keys', html`<${KeyNames} ids=${entry.keys} project=${project} />`])
  if (entry.deprecatedAt) rows.push([zoned('Deprecated'), html`<${Time} at=${entry.deprecatedAt} />`])
  if (entry.sunsetAt) rows.push([zoned('Sunset'), html`<${Time} at=${entry.sunsetAt} />`])
  return html`<${Card} title="State">
    <${Facts} rows=${rows} />
    <div class="buttons">${transitionsOf(entry.state).map(
      (
        [state, verb],
        i,
      ) => html`<${Button} key=${state} look=${i === 0 ? 'primary' : state === 'blocked' ? 'danger' : ''} changes
        onClick=${() => setNext([state, verb])}>${verb}<//>`,
    )}</div>
    ${next && html`<${Transition} ...${{ entry, at, set, next, project, setProject }} onClose=${() => setNext(null)} />`}
  <//>`
}

function KeyNames({ ids, project }) {
  const names = useKeyNames(project)
  return html`<ul class="links">${ids.map(
    (id) => html`<li key=${id}><a href=${to('projects', project.id, 'keys', id)}>${names.get(id) ?? id}</a></li>`,
  )}</ul>`
}

function Transition({ entry, at, set, next: [state, verb], project, setProject, onClose }) {
  const [reason, setReason] = useState('')
  const [keys, setKeys] = useState(entry.keys)
  const [sunset, setSunset] = useState('')
  const [successor, setSuccessor] = useState(entry.successor ?? '')
  const request = {
    to: state,
    version: entry.version,
    ...(reason.trim() && { reason: reason.trim() }),
    ...(state === 'restricted' && { keys }),
    ...(state === 'deprecated' && { sunsetAt: sunset || null, successor: successor.trim() || null }),
  }
  const act = async () => {
    const saved = await orReload(
      () => post(`${at}/transitions`, request),
      () => get(at),
      set,
    )
    setProject(await get(path`projects/${project.id}`)) // the project has a new version
    return saved
  }
  const done = (saved) => {
    set({ ...entry, ...saved })
    const late = saved.delivery === 'pending' ? '. Some keys get this within minutes.' : ''
    notify(`Model ${saved.model}: ${saved.state}${late}`)
  }
  return html`<${Confirm} title=${`${verb}: ${entry.model}`} action=${verb} danger=${state === 'blocked'} act=${act} onDone=${done} onClose=${onClose}>
    <p>${EFFECTS[state]}</p>
    ${state === 'restricted' && html`<${KeyChecks} project=${project} value=${keys} onValue=${setKeys} />`}
    ${
      state === 'deprecated' &&
      html`<${TextField} label="Sunset date" type="date" value=${sunset} onValue=${setSunset} hint="When the model is to be retired. Sent as the Sunset header." />
      <${SuccessorField} value=${successor} onValue=${setSuccessor} />`
    }
    <${TextField} label=${NEEDS_REASON.includes(state) ? 'Reason' : 'Reason (optional)'} multiline rows="3" maxlength="500"
      value=${reason} onValue=${setReason} hint="Kept in the history." />
  <//>`
}

/** The project's gateway keys as checkboxes. */
function KeyChecks({ project, value, onValue }) {
  const keys = useList(path`projects/${project.id}/keys`, 'keys', { kind: 'gateway' }, { all: true })
  // The field drops selected keys that are not among its options, so the options must be complete.
  const whole = {
    ...keys,
    data: keys.data?.next === null ? keys.data : undefined,
    error: keys.error ?? keys.more.error,
  }
  return html`<${Loaded} of=${whole} what="API keys" rows=${2}>${({ items }) =>
    html`<${ChecksField} label="Keys that may use the model"
      options=${items.map((key) => [key.id, key.name])} value=${value} onValue=${onValue} />`}<//>`
}

function SuccessorField({ value, onValue, wrong }) {
  const id = useId()
  return html`<${TextField} label="Successor" list=${id} value=${value} onValue=${onValue} wrong=${wrong} /><${ModelList} id=${id} tiers=${false} />`
}

function Edit({ of: entry, at, set }) {
  const form = useDraft(entry, FORM)
  const { busy, error, run, clear } = useAction(async () => {
    const saved = { ...entry, ...(await patch(at, { ...form.changes(), version: form.base.version })) }
    form.restart(saved)
    set(saved)
    notify(`Model ${saved.model} saved`)
  })
  const takeTheirs = (theirs) => {
    form.follow(theirs)
    set(theirs)
    clear()
  }
  return html`<${Form} onSubmit=${run} edited=${!form.clean} aria-label="Record">
    <${EntryFields} draft=${form.draft} set=${form.change} error=${error} deprecated=${entry.state === 'deprecated'} />
    ${
      error?.status === 409
        ? html`<${Conflict} load=${() => get(at)} onLoaded=${takeTheirs} />`
        : html`<${FormError} error=${error} shown=${ENTRY_FIELDS} />`
    }
    <div class="buttons"><${Button} look="primary" type="submit" changes busy=${busy} idle=${form.clean}>Save record<//></div>
  <//>`
}

function EntryFields({ draft, set, error, deprecated = false }) {
  const field = (
    name,
    label,
    rest,
  ) => html`<${TextField} label=${label} value=${draft[name]} onValue=${(value) => set({ [name]: value })}
    wrong=${wrongWith(error, name)} ...${rest} />`
  const lines = { multiline: true, rows: '2', spellcheck: false }
  return html`
    <div class="columns">
      ${field('owner', 'Owner', { maxlength: '120', hint: 'A person or team.' })}
      <${SelectField} label="Risk tier" options=${RISK_TIERS} value=${draft.riskTier} onValue=${(riskTier) => set({ riskTier })} wrong=${wrongWith(error, 'riskTier')} />
      ${field('reviewDate', 'Review date', { type: 'date' })}
      ${deprecated && field('sunsetAt', 'Sunset date', { type: 'date' })}
      <${SuccessorField} value=${draft.successor} onValue=${(successor) => set({ successor })} wrong=${wrongWith(error, 'successor')} />
      ${field('retention', 'Retention at the provider', { maxlength: '200' })}
    </div>
    ${field('purpose', 'Purpose', { multiline: true, rows: '2', maxlength: '1000' })}
    <div class="columns">
      ${field('dataClasses', 'Data classes, one per line', lines)}
      ${field('regions', 'Regions, one per line', lines)}
      ${field('links', 'Links, one per line', { ...lines, placeholder: 'https://' })}
    </div>`
}

const approvals = (project) => [
  { label: 'Time', time: true, head: true, cell: (approval) => html`<${Time} at=${approval.at} />` },
  { label: 'Approved by', cell: (approval) => html`<${WithIds} text=${approval.by} project=${project.id} />` },
  { label: 'Reason', cell: (approval) => approval.reason || '–' },
]
const changes = (project) => [
  { label: 'Time', time: true, head: true, cell: (change) => html`<${Time} at=${change.at} />` },
  { label: 'From', cell: (change) => (change.from ? html`<${EntryState} of=${change.from} />` : '–') },
  { label: 'To', cell: (change) => html`<${EntryState} of=${change.to} />` },
  { label: 'By', cell: (change) => html`<${WithIds} text=${change.by} project=${project.id} />` },
  { label: 'Reason', cell: (change) => change.reason || '–' },
]

function HistoryCard({ of: entry, project }) {
  const { history } = entry
  return html`<${Card} title="History">
    ${entry.approvals.length > 0 && html`<${Table} caption="Approvals" showCaption columns=${approvals(project)} rows=${entry.approvals} rowKey=${(_, i) => String(i)} />`}
    ${
      history.length === 0
        ? html`<p class="muted">No changes of state yet.</p>`
        : html`<${Table} caption="Changes of state" showCaption columns=${changes(project)} rows=${history} rowKey=${(_, i) => String(i)} />`
    }
  <//>`
}
