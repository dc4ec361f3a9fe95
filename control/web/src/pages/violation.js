// One violation: its facts, state and triage.
import { useState } from 'preact/hooks'
import { get, patch, path } from '../api.js'
import { Button } from '../components/button.js'
import { Form, FormError, TextField, wrongWith } from '../components/form.js'
import { Id, ModelName, WithIds } from '../components/ids.js'
import { Card, Page } from '../components/page.js'
import { Failure, Loaded, Time } from '../components/states.js'
import { Facts } from '../components/table.js'
import { State } from '../components/violations.js'
import { orReload } from '../draft.js'
import { count } from '../format.js'
import { html } from '../html.js'
import { useList } from '../lists.js'
import { notify } from '../notices.js'
import { useAction, useResource } from '../resource.js'
import { to } from '../router.js'
import { stateLabel, transitionsOf } from '../violations.js'
import { zoned } from '../zone.js'
import { Severity } from './governor-rules.js'
import { Decision } from './governor-try.js'
import { useKeyNames } from './violations.js'

export function ViolationPage({ project, params }) {
  const at = path`projects/${project.id}/violations/${params.violation}`
  const violation = useResource((signal) => get(at, { signal }), [at])
  const all = html`<p><a href=${to('projects', project.id, 'violations')}>View all violations</a></p>`
  if (violation.error?.status === 404) {
    return html`<${Page} title="Violation" of=${project.name}><${Failure} error=${violation.error} what="the violation" />${all}<//>`
  }
  return html`<${Page} title="Violation" of=${project.name}>
    <${Loaded} of=${violation} what="the violation">${(data) => html`
      <${Card} title="Details"><${Details} of=${data} project=${project} /><//>
      <${Card} title="Triage"><${Triage} of=${data} at=${at} set=${violation.set} project=${project} /><//>`}<//>
    ${all}
  <//>`
}

function Details({ of: violation, project }) {
  const names = useKeyNames(project)
  const rows = [
    ['Rule', html`<code>${violation.rule}</code> (${violation.category})`],
    ['Severity', html`<${Severity} of=${violation.severity} />`],
    [
      'Decision',
      html`<${Decision} of=${violation.decision} /> with risk score ${violation.riskScore}, policy version ${violation.policyVersion}`,
    ],
    ['Direction', violation.direction],
    [
      'Place',
      html`<code>${violation.path || '–'}</code>${violation.end > violation.start && `, bytes ${violation.start}–${violation.end}`}`,
    ],
    ['Count', `${count(violation.count)} in the same minute`],
    [zoned('First seen'), html`<${Time} at=${violation.firstAt} />`],
    [zoned('Last seen'), html`<${Time} at=${violation.lastAt} />`],
    ['Model', html`<${ModelName} of=${violation.model} />`],
    [
      'API key',
      html`<a href=${to('projects', project.id, 'keys', violation.key)}>${names.get(violation.key) ?? violation.key}</a>`,
    ],
    ['Request ID', html`<${Id} id=${violation.requestId} project=${project.id} />`],
    ['Fingerprint', violation.fingerprint ? html`<code>${violation.fingerprint}</code>` : 'none'],
    ['Excerpt', violation.excerpt ? html`<code>${violation.excerpt}</code>` : 'not stored'],
    ['ID', html`<code>${violation.id}</code>`],
  ]
  return html`<${Facts} rows=${rows} />`
}

function Triage({ of: violation, at, set, project }) {
  const history = useHistory(project, violation)
  const [typed, setNote] = useState(null)
  const note = typed ?? violation.note ?? ''
  const { busy, error, run } = useAction(async (state) => {
    const fields = { ...(state && { state }), note: note.trim() || null, version: violation.version }
    const saved = await orReload(
      () => patch(at, fields),
      () => get(at),
      set,
    )
    setNote(null)
    set(saved)
    history.reload()
    notify(state ? `Violation: ${stateLabel(state).toLowerCase()}` : 'Note saved')
  })
  const unchanged = note.trim() === (violation.note ?? '')
  return html`
    <${Facts} rows=${[
      ['State', html`<${State} of=${violation.state} />`],
      [
        zoned('Changed'),
        violation.changedAt
          ? html`<${Time} at=${violation.changedAt} /> by <${WithIds} text=${violation.changedBy} project=${project.id} />`
          : 'never',
      ],
    ]} />
    <${History} of=${history} project=${project} />
    <${Form} onSubmit=${() => run()} edited=${!unchanged} aria-label="Triage">
      <${TextField} label="Note" multiline rows="3" maxlength="1000" value=${note} onValue=${setNote} wrong=${wrongWith(error, 'note')} />
      <${FormError} error=${error} shown=${['note']} />
      <div class="buttons">
        ${transitionsOf(violation.state).map(
          ([state, verb], i) =>
            html`<${Button} key=${state} look=${i === 0 ? 'primary' : ''} changes busy=${busy} onClick=${() => run(state)}>${verb}<//>`,
        )}
        <${Button} type="submit" changes busy=${busy} idle=${unchanged}>Save note<//>
      </div>
    <//>`
}

/** The triage history of a violation, newest first, from the audit log. */
function useHistory(project, violation) {
  const log = useList('audit', 'entries', { project: project.id, action: 'violation' }, { all: true })
  const entries = (log.data?.items ?? []).filter(({ after }) => after?.violation === violation.id)
  return { entries, reload: log.reload }
}

function History({ of: { entries }, project }) {
  if (entries.length === 0) return null
  return html`<div><h3>History</h3><ol class="history" reversed>${entries.map(
    ({ id, time, actor, before, after }) =>
      html`<li key=${id}><${Time} at=${time} /> <${WithIds} text=${actor} project=${project.id} />: ${
        after.state ? `${stateLabel(before.state)} → ${stateLabel(after.state)}` : 'note changed'
      }${after.note && html`<span class="under">${after.note}</span>`}</li>`,
  )}</ol></div>`
}
