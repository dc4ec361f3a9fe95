// A project's settings.
import { useState } from 'preact/hooks'
import { get, patch, path, post } from '../api.js'
import { Button } from '../components/button.js'
import { Conflict } from '../components/conflict.js'
import { Confirm } from '../components/dialog.js'
import { CheckField, Form, FormError, SelectField, TextField, wrongWith } from '../components/form.js'
import { Id } from '../components/ids.js'
import { ModelsField } from '../components/models.js'
import { Card, Page } from '../components/page.js'
import { Loaded, Time } from '../components/states.js'
import { Facts } from '../components/table.js'
import { useDraft } from '../draft.js'
import { span, typed } from '../format.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction, useCatalog } from '../resource.js'
import { BUDGET_PERIODS, CACHE_SCOPES, numberOf } from '../values.js'
import { zoned } from '../zone.js'
import { AlertsCard } from './alerts.js'

/** The TTL of a cache that is turned on without one. The API has the same default. */
const USUAL_TTL_SECONDS = 3600

const FIELDS = [
  'name',
  'plan',
  'budget',
  'budgetPeriod',
  'cache',
  'cacheTtlSeconds',
  'unbounded',
  'recordProviderErrors',
  'contact',
  'models',
]

export function SettingsPage({ project, setProject, whole }) {
  useCatalog() // loads in parallel with the project; provides the plans
  return html`<${Page} title="Settings" of=${project.name}><${Loaded} of=${whole} what="the project" rows=${8}>${() => html`
    <${Card} title="General"><${General} project=${project} setProject=${setProject} /><//>
    <${AlertsCard} project=${project} setProject=${setProject} />
    <${Card} title="About">
      <${Facts} rows=${[
        ['ID', html`<${Id} id=${project.id} />`],
        ['Region', project.region ?? 'automatic'],
        [zoned('Created'), html`<${Time} at=${project.createdAt} />`],
        ['Settings version', project.version],
      ]} />
    <//>
    <${ArchiveCard} project=${project} setProject=${setProject} />`}<//><//>`
}

function draftOf(project) {
  return {
    name: project.name,
    plan: project.plan,
    budget: typed(project.budget),
    budgetPeriod: project.budgetPeriod,
    cache: project.cache,
    cacheTtlSeconds: typed(project.cache === 'off' ? USUAL_TTL_SECONDS : project.cacheTtlSeconds),
    unbounded: project.unbounded,
    recordProviderErrors: project.recordProviderErrors,
    contact: project.contact,
    models: project.models,
  }
}

function fieldsOf(draft) {
  const cacheTtlSeconds = draft.cache === 'off' ? 0 : numberOf(draft.cacheTtlSeconds)
  return { ...draft, budget: numberOf(draft.budget), cacheTtlSeconds }
}

const FORM = { draftOf, fieldsOf }

function General({ project, setProject }) {
  const form = useDraft(project, FORM)
  const at = path`projects/${project.id}`
  const { busy, error, run, clear } = useAction(async () => {
    const saved = await patch(at, { ...form.changes(), version: form.base.version })
    form.restart(saved)
    setProject(saved)
    notify('Settings saved')
  })
  const takeTheirs = (theirs) => {
    form.follow(theirs)
    setProject(theirs)
    clear()
  }
  return html`<${Form} onSubmit=${run} edited=${!form.clean}>
    <${Fields} draft=${form.draft} set=${form.change} error=${error} />
    ${
      error?.status === 409
        ? html`<${Conflict} load=${() => get(at)} onLoaded=${takeTheirs} />`
        : html`<${FormError} error=${error} shown=${FIELDS} />`
    }
    <div class="buttons">
      <${Button} look="primary" type="submit" changes busy=${busy} idle=${form.clean}>Save settings<//>
    </div>
  <//>`
}

function Fields({ draft, set, error }) {
  const catalog = useCatalog()
  const wrong = (name) => wrongWith(error, name)
  return html`
    <${TextField} label="Name" required maxlength="120" value=${draft.name} onValue=${(name) => set({ name })} wrong=${wrong('name')} />
    <div class="columns">
      <${Loaded} of=${catalog} what="plans" rows=${1}>${({
        plans,
      }) => html`<${SelectField} label="Plan" value=${draft.plan}
        options=${plans.map((plan) => [plan.name, plan.governor ? `${plan.name} (with Governor)` : plan.name])} onValue=${(plan) => set({ plan })} wrong=${wrong('plan')} />`}<//>
      <${TextField} label="Budget (USD)" inputmode="decimal" value=${draft.budget} onValue=${(budget) => set({ budget })} wrong=${wrong('budget')} />
      <${SelectField} label="Budget period" options=${BUDGET_PERIODS} value=${draft.budgetPeriod}
        onValue=${(budgetPeriod) => set({ budgetPeriod })} wrong=${wrong('budgetPeriod')} />
    </div>
    <div class="columns">
      <${SelectField} label="Cache" options=${CACHE_SCOPES} value=${draft.cache} onValue=${(cache) => set({ cache })} wrong=${wrong('cache')}
        hint=${SCOPE_HINTS[draft.cache]} />
      <${TextField} label="Cache TTL (seconds)" inputmode="numeric" value=${draft.cacheTtlSeconds} wrong=${wrong('cacheTtlSeconds')}
        onValue=${(cacheTtlSeconds) => set({ cacheTtlSeconds })} hint=${ttlHint(draft)} disabled=${draft.cache === 'off'} />
    </div>
    <${CheckField} label="Don’t limit the output of requests without max_tokens" value=${draft.unbounded} onValue=${(unbounded) => set({ unbounded })}
      wrong=${wrong('unbounded')} hint="Long responses can then exceed the budget." />
    <${CheckField} label="Record the messages of providers’ errors" value=${draft.recordProviderErrors}
      onValue=${(recordProviderErrors) => set({ recordProviderErrors })} wrong=${wrong('recordProviderErrors')}
      hint="Owners see them with a failed request. Secrets and personal data that the Governor’s rules find are redacted, but parts of prompts may remain." />
    <${TextField} label="Contact for limits" maxlength="100" value=${draft.contact} onValue=${(contact) => set({ contact })}
      wrong=${wrong('contact')} hint="Errors about a limit or the budget name this as who can raise it, such as platform@example.com." />
    <${ModelsField} label="Allowed models" value=${draft.models} onValue=${(models) => set({ models })}
      wrong=${wrong('models')} hint="Leave empty to allow all models." />`
}

const SCOPE_HINTS = {
  off: 'Responses are not cached.',
  colo: 'Responses are kept in memory and in the data center.',
  global: 'Responses are also kept in KV, for all data centers. Cloudflare bills its reads and writes.',
}

/** The shortest TTL of each scope, in seconds. */
const LEAST_TTL = { colo: 1, global: 60 }

function ttlHint({ cache, cacheTtlSeconds }) {
  if (cache === 'off') return ''
  const seconds = numberOf(cacheTtlSeconds)
  const least = LEAST_TTL[cache]
  if (!Number.isInteger(seconds) || seconds < least) return `Enter a whole number of seconds, at least ${least}.`
  return `${span(seconds)}.`
}

function ArchiveCard({ project, setProject }) {
  const [asking, setAsking] = useState(false)
  const archived = project.status === 'archived'
  const act = () => post(path`projects/${project.id}/${archived ? 'restore' : 'archive'}`)
  const done = (saved) => {
    setProject(saved)
    notify(archived ? 'Project restored' : 'Project archived')
  }
  const action = archived ? 'Restore project' : 'Archive project'
  return html`<${Card} title=${archived ? 'Restore' : 'Archive'}>
    <p>${
      archived
        ? 'This project is archived: requests with its keys are rejected with 401. Restore it to make its keys work again.'
        : 'Requests with an archived project’s keys are rejected with 401. Its usage is kept, and you can restore it later.'
    }</p>
    <${Button} look=${archived ? 'primary' : 'danger'} changes onClick=${() => setAsking(true)}>${action}<//>
    ${
      asking &&
      html`<${Confirm} title=${`${action}?`} action=${action} danger=${!archived} act=${act} onDone=${done} onClose=${() => setAsking(false)}>
      <p>${
        archived
          ? html`All active keys of <strong>${project.name}</strong> work again immediately.`
          : html`Requests with any key of <strong>${project.name}</strong> are rejected with 401 immediately.`
      }</p><//>`
    }
  <//>`
}
