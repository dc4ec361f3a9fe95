// The fields shared by the forms that create and edit a key.
import { useState } from 'preact/hooks'
import { ChecksField, SelectField, TextField, wrongWith } from '../components/form.js'
import { ModelsField } from '../components/models.js'
import { PeriodLimits } from '../components/period-limits.js'
import { count, typed } from '../format.js'
import { html } from '../html.js'
import { useCatalog } from '../resource.js'
import {
  BUDGET_PERIODS,
  ENFORCEMENTS,
  LIMITS,
  limitsOf,
  numberOrNull,
  PERIOD_LIMITS,
  permissionsOf,
  same,
  typedLimits,
} from '../values.js'

export const KEY_FIELDS = [
  'name',
  'kind',
  'environment',
  'models',
  'permissions',
  'budget',
  'budgetPeriod',
  'enforce',
  'limits',
  'expiresAt',
]

/** A key's editable fields as a form draft of strings and lists. permissions is null for the kind's default. */
export function draftOf(key) {
  return {
    name: key?.name ?? '',
    models: key?.models ?? [],
    permissions: key?.permissions ?? null,
    budget: typed(key?.budget),
    budgetPeriod: key?.budgetPeriod ?? 'month',
    enforce: key?.enforce ?? 'hard',
    limits: typedLimits(key?.limits, [...LIMITS, ...PERIOD_LIMITS]),
    expiresAt: localOf(key?.expiresAt),
  }
}

/** The draft as the API's fields. */
export function fieldsOf(draft) {
  return {
    name: draft.name,
    models: draft.models,
    ...(draft.permissions && { permissions: draft.permissions }),
    budget: numberOrNull(draft.budget),
    budgetPeriod: draft.budgetPeriod,
    enforce: draft.enforce,
    limits: limitsOf(draft.limits),
    expiresAt: draft.expiresAt === '' ? null : `${draft.expiresAt.slice(0, 16)}:00.000Z`,
  }
}

/** A UTC time as the value for <input type=datetime-local>. */
function localOf(rfc3339) {
  return rfc3339 ? new Date(rfc3339).toISOString().slice(0, 16) : ''
}

/** @param {{draft: object, set: (changes: object) => void, error?: Error, kind: string, plan: string,
 *   environment: string}} props */
export function KeyFields({ draft, set, error, kind, plan, environment }) {
  const planLimits = usePlanLimits(plan, environment)
  return html`
    <${TextField} label="Name" required maxlength="120" value=${draft.name} onValue=${(name) => set({ name })}
      wrong=${wrongWith(error, 'name')} hint="The program that uses the key, for example “Backend”." />
    <details class="more-fields" open=${Boolean(error?.details?.some(({ field }) => field !== 'name'))}>
      <summary>Models, permissions, limits, budget, expiry</summary>
      <${ModelsField} label="Allowed models" value=${draft.models} onValue=${(models) => set({ models })}
        wrong=${wrongWith(error, 'models')} hint="Leave empty to allow all models of the project." />
      <${Permissions} draft=${draft} set=${set} kind=${kind} wrong=${wrongWith(error, 'permissions')} />
      <div class="columns">${LIMITS.map(
        ([name, label]) => html`<${TextField} key=${name} label=${label} inputmode="numeric" value=${draft.limits[name]}
          placeholder=${placeholder(planLimits, name)} wrong=${wrongWith(error, `limits.${name}`)}
          onValue=${(value) => set({ limits: { ...draft.limits, [name]: value } })} />`,
      )}</div>
      <p class="hint">Leave a limit empty to use the plan’s.</p>
      <div class="columns">
        <${TextField} label="Budget (USD)" inputmode="decimal" value=${draft.budget} onValue=${(budget) => set({ budget })}
          wrong=${wrongWith(error, 'budget')} hint="The key’s own. Leave empty for none." />
        <${SelectField} label="Budget period" options=${BUDGET_PERIODS} value=${draft.budgetPeriod}
          onValue=${(budgetPeriod) => set({ budgetPeriod })} wrong=${wrongWith(error, 'budgetPeriod')} />
        <${SelectField} label="Enforcement" options=${ENFORCEMENTS} value=${draft.enforce} onValue=${(enforce) => set({ enforce })}
          wrong=${wrongWith(error, 'enforce')} />
        <${PeriodLimits} draft=${draft} set=${set} error=${error} />
      </div>
      <${TextField} label="Expires at (UTC)" type="datetime-local" value=${draft.expiresAt}
        onValue=${(expiresAt) => set({ expiresAt })} wrong=${wrongWith(error, 'expiresAt')} hint="Leave empty for no expiry." />
    </details>`
}

/**
 * The permissions. The user can check "Restrict" while all permissions are still granted. The draft does not record
 * that.
 */
function Permissions({ draft, set, kind, wrong }) {
  const [restricting, setRestricting] = useState(false)
  const options = permissionsOf(kind)
  const all = options.map(([name]) => name)
  const value = draft.permissions ?? all
  const restricted = restricting || !same(value, all)
  const change = (event) => {
    setRestricting(event.target.checked)
    if (!event.target.checked && draft.permissions) set({ permissions: all })
  }
  return html`<label class="check"><input type="checkbox" checked=${restricted} onChange=${change} /> Restrict permissions</label>
    ${
      restricted &&
      html`<${ChecksField} label="Permissions" options=${options} wrong=${wrong} value=${value}
        onValue=${(permissions) => set({ permissions })} />`
    }`
}

function usePlanLimits(plan, environment) {
  const { data } = useCatalog()
  return data?.plans.find(({ name }) => name === plan)?.[environment] ?? {}
}

function placeholder(planLimits, name) {
  const limit = planLimits[name]
  if (limit === undefined) return ''
  return limit ? count(limit) : 'no limit'
}
