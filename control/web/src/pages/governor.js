// A project's Governor: its settings, and a box that checks a text against them before they are saved.

import { get, path, put } from '../api.js'
import { Button } from '../components/button.js'
import { Conflict } from '../components/conflict.js'
import { DocsLink } from '../components/docs.js'
import { CheckField, Form, FormError, SelectField, TextField, wrongWith } from '../components/form.js'
import { Card, Page } from '../components/page.js'
import { Loaded } from '../components/states.js'
import { useDraft } from '../draft.js'
import { draftOf, fieldsOf } from '../governor.js'
import { GOVERNOR_DOCS } from '../help.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction, useCatalog, useResource } from '../resource.js'
import { to } from '../router.js'
import { AnswersCard, ClassifierCard, LengthsCard } from './governor-answers.js'
import { ExemptionsCard, KeywordsCard, PatternsCard } from './governor-lists.js'
import { RulesCard } from './governor-rules.js'
import { TryCard } from './governor-try.js'

const LEAD = html`The Governor checks what callers send and what models answer, and approves, reviews or blocks it.
  <${DocsLink} href=${GOVERNOR_DOCS} optional>Read how rules and risk scores work<//>`
const FORM = { draftOf, fieldsOf }
const FIELDS = [
  'autoApproveThreshold',
  'keywords',
  'patterns',
  'exemptions',
  'answerSchema',
  'maxInputCharacters',
  'maxOutputCharacters',
  'classifier',
]
const UNCHECKED = [
  ['allow', 'Allow, and name it in the response header'],
  ['block', 'Block'],
]

export function GovernorPage({ project, setProject }) {
  const settings = useResource((signal) => get(path`projects/${project.id}/governor`, { signal }), [project.id])
  const rules = useResource((signal) => get('governor/rules', { signal }), [])
  return html`<${Page} title="Governor" of=${project.name} lead=${LEAD}>
    <${Loaded} of=${settings} what="the Governor’s settings">${(data) => html`
      ${!data.available && html`<${Unavailable} project=${project} enabled=${data.enabled} />`}
      <${Loaded} of=${rules} what="rules">${(table) =>
        html`<${Settings} project=${project} settings=${data} set=${settings.set} rules=${table.rules} setProject=${setProject} />`}<//>`}<//>
  <//>`
}

function Unavailable({ project, enabled }) {
  const { data } = useCatalog()
  const plans = (data?.plans ?? []).filter((plan) => plan.governor).map((plan) => plan.name)
  return html`<${Card} title="Not available on this plan">
    <p>The plan <strong>${project.plan}</strong> does not include the Governor${enabled ? ', so requests are not checked, even with “Enable the Governor” on' : ', so you cannot enable it'}.
      ${plans.length > 0 && ` These plans include it: ${plans.join(', ')}.`}</p>
    <p><a href=${to('projects', project.id, 'settings')}>Change the plan in Settings</a></p>
  <//>`
}

function Settings({ project, settings, set, rules, setProject }) {
  const form = useDraft(settings, FORM)
  const at = path`projects/${project.id}/governor`
  const { busy, error, run, clear } = useAction(async () => {
    const saved = await put(at, { ...fieldsOf(form.draft), version: form.base.version })
    form.restart(saved)
    set(saved)
    if (project.version) setProject({ ...project, version: saved.version }) // the Settings page must not edit the previous version
    notify('Governor settings saved')
  })
  const takeTheirs = (theirs) => {
    form.follow(theirs)
    set(theirs)
    clear()
  }
  const parts = { draft: form.draft, change: form.change, error }
  return html`<${Form} onSubmit=${run} edited=${!form.clean} aria-label="Governor">
    <${GeneralCard} ...${parts} available=${settings.available} />
    <${TryCard} project=${project} settings=${() => fieldsOf(form.draft)} />
    <${RulesCard} ...${parts} rules=${rules} />
    <${KeywordsCard} ...${parts} />
    <${PatternsCard} ...${parts} />
    <${ExemptionsCard} ...${parts} />
    <${AnswersCard} ...${parts} />
    <${LengthsCard} ...${parts} />
    <${ClassifierCard} ...${parts} />
    ${
      error?.status === 409
        ? html`<${Conflict} load=${() => get(at)} onLoaded=${takeTheirs} />`
        : html`<${FormError} error=${error} shown=${FIELDS} />`
    }
    <div class="save-bar buttons">
      <${Button} look="primary" type="submit" changes busy=${busy} idle=${form.clean}>Save settings<//>
      <span class="muted" role="status">${form.clean ? `Policy version ${settings.policyVersion}` : 'Unsaved changes'}</span>
    </div>
  <//>`
}

function GeneralCard({ draft, change, error, available }) {
  const wrong = (name) => wrongWith(error, name)
  return html`<${Card} title="General">
    <${CheckField} label="Enable the Governor" value=${draft.enabled} onValue=${(enabled) => change({ enabled })} wrong=${wrong('enabled')}
      hint=${available ? 'Checks every request and response of this project.' : 'The project’s plan does not include the Governor.'} />
    <${CheckField} label="Strict mode" value=${draft.strictMode} onValue=${(strictMode) => change({ strictMode })} wrong=${wrong('strictMode')}
      hint="Blocks above the threshold with 422. Without strict mode, the request passes and a violation is opened for review." />
    <${CheckField} label="Restore redacted values in responses" value=${draft.reversible} onValue=${(reversible) => change({ reversible })}
      wrong=${wrong('reversible')} hint="The provider sees placeholders such as [EMAIL_1]; the caller sees the original values." />
    <div class="columns">
      <${TextField} label="Auto-approve threshold" inputmode="numeric" value=${draft.autoApproveThreshold} wrong=${wrong('autoApproveThreshold')}
        onValue=${(autoApproveThreshold) => change({ autoApproveThreshold })} hint="0 to 100: the highest risk score that is approved." />
      <${SelectField} label="Content that cannot be checked" options=${UNCHECKED} value=${draft.unchecked} wrong=${wrong('unchecked')}
        onValue=${(unchecked) => change({ unchecked })} hint="Images, audio, PDFs, token arrays." />
    </div>
  <//>`
}
