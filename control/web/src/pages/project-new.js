// The form for a new project. After that, the form for the project's first key follows.
import { useState } from 'preact/hooks'
import { post } from '../api.js'
import { Button, ButtonLink } from '../components/button.js'
import { Form, FormError, SelectField, TextField, wrongWith } from '../components/form.js'
import { GroupField } from '../components/groups.js'
import { Card, Page } from '../components/page.js'
import { Loaded } from '../components/states.js'
import { money, typed } from '../format.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction, useCatalog } from '../resource.js'
import { navigate, to, useQuery } from '../router.js'
import { BUDGET_PERIODS, numberOf } from '../values.js'

const REGIONS = [
  ['', 'Automatic, near the first caller'],
  ['wnam', 'North America, west'],
  ['enam', 'North America, east'],
  ['sam', 'South America'],
  ['weur', 'Europe, west'],
  ['eeur', 'Europe, east'],
  ['apac', 'Asia and Pacific'],
  ['oc', 'Oceania'],
  ['afr', 'Africa'],
  ['me', 'Middle East'],
]
const FIELDS = ['name', 'plan', 'budget', 'budgetPeriod', 'region', 'group']

export function NewProjectPage() {
  const catalog = useCatalog()
  return html`<${Page} title="New project">
    <${Card}><${Loaded} of=${catalog} what="plans">${({ plans }) => html`<${NewProject} plans=${plans} />`}<//><//>
  <//>`
}

function NewProject({ plans }) {
  const [name, setName] = useState('')
  const [plan, setPlan] = useState(plans[0]?.name ?? '')
  const [budget, setBudget] = useState('')
  const [budgetPeriod, setPeriod] = useState('month')
  const [region, setRegion] = useState('')
  const [{ group: linked }] = useQuery(['group'])
  const [group, setGroup] = useState(linked)
  const { busy, error, run } = useAction(async () => {
    const body = {
      name,
      plan,
      budgetPeriod,
      ...(region && { region }),
      ...(group && { group }),
      ...(budget.trim() && { budget: numberOf(budget) }),
    }
    const project = await post('projects', body)
    notify(`Project ${project.name} created`)
    navigate(to('projects', project.id, 'keys', 'new'))
  })
  const planBudget = plans.find((p) => p.name === plan)?.budget
  return html`<${Form} onSubmit=${run} edited=${[name, budget, region].some(Boolean)}>
    <${TextField} label="Name" required maxlength="120" value=${name} onValue=${setName} wrong=${wrongWith(error, 'name')} />
    <div class="columns">
      <${SelectField} label="Plan" options=${plans.map((p) => [p.name, p.governor ? `${p.name} (with Governor)` : p.name])} value=${plan} onValue=${setPlan}
        wrong=${wrongWith(error, 'plan')} hint="Sets the limits of the project’s keys." />
      <${TextField} label="Budget (USD)" inputmode="decimal" value=${budget} onValue=${setBudget} wrong=${wrongWith(error, 'budget')}
        placeholder=${typed(planBudget)} hint=${planBudget === undefined ? '' : `Leave empty to use the plan’s: ${money(planBudget)}.`} />
      <${SelectField} label="Budget period" options=${BUDGET_PERIODS} value=${budgetPeriod} onValue=${setPeriod} wrong=${wrongWith(error, 'budgetPeriod')} />
      <${SelectField} label="Region" options=${REGIONS} value=${region} onValue=${setRegion} wrong=${wrongWith(error, 'region')}
        hint="Where limits and budget are tracked. It cannot be changed later." />
      <${GroupField} value=${group} onValue=${setGroup} wrong=${wrongWith(error, 'group')} />
    </div>
    <${FormError} error=${error} shown=${FIELDS} />
    <div class="buttons">
      <${Button} look="primary" type="submit" changes busy=${busy}>Create project<//>
      <${ButtonLink} href=${to('projects')}>Cancel<//>
    </div>
  <//>`
}
