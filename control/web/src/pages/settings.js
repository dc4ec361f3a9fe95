// A project's settings.
import { path } from '../api.js'
import { ArchiveCard } from '../components/archive.js'
import { CheckField, SelectField, TextField, wrongWith } from '../components/form.js'
import { GroupField } from '../components/groups.js'
import { Id } from '../components/ids.js'
import { ModelsField } from '../components/models.js'
import { Card, Page } from '../components/page.js'
import { PeriodLimits } from '../components/period-limits.js'
import { RecordForm } from '../components/record-form.js'
import { Loaded, Time } from '../components/states.js'
import { Facts } from '../components/table.js'
import { span, typed } from '../format.js'
import { html } from '../html.js'
import { useCatalog } from '../resource.js'
import {
  BUDGET_PERIODS,
  CACHE_SCOPES,
  ENFORCEMENTS,
  limitsOf,
  numberOf,
  PERIOD_LIMITS,
  typedLimits,
} from '../values.js'
import { zoned } from '../zone.js'
import { AlertsCard } from './alerts.js'
import { CreditsCard } from './credits.js'

/** The TTL of a cache that is turned on without one. The API has the same default. */
const USUAL_TTL_SECONDS = 3600

const FIELDS = [
  'name',
  'group',
  'plan',
  'budget',
  'budgetPeriod',
  'limits',
  'enforce',
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
    <${CreditsCard} at=${path`projects/${project.id}`} of=${project} set=${setProject} />
    <${AlertsCard} at=${path`projects/${project.id}`} record=${project} set=${setProject} />
    <${Card} title="About">
      <${Facts} rows=${[
        ['ID', html`<${Id} id=${project.id} />`],
        ['Region', project.region ?? 'automatic'],
        [zoned('Created'), html`<${Time} at=${project.createdAt} />`],
        ['Settings version', project.version],
      ]} />
    <//>
    <${ArchiveCard} at=${path`projects/${project.id}`} noun="Project" archived=${project.status === 'archived'} set=${setProject} words=${archiveWords(project)} />`}<//><//>`
}

const archiveWords = ({ name }) => ({
  before:
    'Requests with an archived project’s keys are rejected with 401. Its usage is kept, and you can restore it later.',
  after:
    'This project is archived: requests with its keys are rejected with 401. Restore it to make its keys work again.',
  archives: html`Requests with any key of <strong>${name}</strong> are rejected with 401 immediately.`,
  restores: html`All active keys of <strong>${name}</strong> work again immediately.`,
})

function draftOf(project) {
  return {
    name: project.name,
    group: project.group ?? '',
    plan: project.plan,
    budget: typed(project.budget),
    budgetPeriod: project.budgetPeriod,
    limits: typedLimits(project.limits, PERIOD_LIMITS),
    enforce: project.enforce,
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
  return {
    ...draft,
    group: draft.group || null,
    budget: numberOf(draft.budget),
    limits: limitsOf(draft.limits),
    cacheTtlSeconds,
  }
}

const FORM = { draftOf, fieldsOf }

function General({ project, setProject }) {
  return html`<${RecordForm} at=${path`projects/${project.id}`} record=${project} set=${setProject} form=${FORM} shown=${FIELDS}
    action="Save settings" saved=${() => 'Settings saved'}>${Fields}<//>`
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
      <${SelectField} label="Enforcement" options=${ENFORCEMENTS} value=${draft.enforce} onValue=${(enforce) => set({ enforce })}
        wrong=${wrong('enforce')} />
      <${PeriodLimits} draft=${draft} set=${set} error=${error} />
      <${GroupField} value=${draft.group} onValue=${(group) => set({ group })} wrong=${wrong('group')} />
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
