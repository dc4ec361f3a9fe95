// The fields shared by the forms that create and edit a group.
import { CheckField, SelectField, TextField, wrongWith } from '../components/form.js'
import { ModelsField } from '../components/models.js'
import { PeriodLimits } from '../components/period-limits.js'
import { typed } from '../format.js'
import { ROOT } from '../groups.js'
import { html } from '../html.js'
import { BUDGET_PERIODS, ENFORCEMENTS, limitsOf, numberOrNull, PERIOD_LIMITS, typedLimits } from '../values.js'

export const FIELDS = ['name', 'budget', 'budgetPeriod', 'limits', 'enforce', 'models', 'hideNames']

/** A group's editable fields as a form draft. Only the root has hideNames. */
export function draftOf(group) {
  return {
    name: group.name,
    budget: typed(group.budget),
    budgetPeriod: group.budgetPeriod,
    limits: typedLimits(group.limits, PERIOD_LIMITS),
    enforce: group.enforce,
    models: group.models,
    ...(group.id === ROOT && { hideNames: group.hideNames }),
  }
}

export const NEW_GROUP = draftOf({ name: '', budgetPeriod: 'month', enforce: 'hard', models: [] })

/** The draft as the API's fields. */
export const fieldsOf = (draft) => ({ ...draft, budget: numberOrNull(draft.budget), limits: limitsOf(draft.limits) })

/** @param {{draft: object, set: (changes: object) => void, error?: Error}} props */
export function GroupFields({ draft, set, error }) {
  const wrong = (name) => wrongWith(error, name)
  return html`
    <${TextField} label="Name" required maxlength="120" value=${draft.name} onValue=${(name) => set({ name })} wrong=${wrong('name')} />
    <div class="columns">
      <${TextField} label="Budget (USD)" inputmode="decimal" value=${draft.budget} onValue=${(budget) => set({ budget })} wrong=${wrong('budget')}
        hint="Leave empty for none." />
      <${SelectField} label="Budget period" options=${BUDGET_PERIODS} value=${draft.budgetPeriod}
        onValue=${(budgetPeriod) => set({ budgetPeriod })} wrong=${wrong('budgetPeriod')} />
      <${SelectField} label="Enforcement" options=${ENFORCEMENTS} value=${draft.enforce} onValue=${(enforce) => set({ enforce })}
        wrong=${wrong('enforce')} />
      <${PeriodLimits} draft=${draft} set=${set} error=${error} />
    </div>
    <${ModelsField} label="Allowed models" value=${draft.models} onValue=${(models) => set({ models })} wrong=${wrong('models')}
      hint="A request needs a model that its key, its project and all groups above allow. Leave empty to allow all." />
    ${
      draft.hideNames !== undefined &&
      html`<${CheckField} label="Hide the names of groups in refusals" value=${draft.hideNames} onValue=${(hideNames) => set({ hideNames })}
        wrong=${wrong('hideNames')} hint="Callers then see only the IDs of groups." />`
    }`
}
