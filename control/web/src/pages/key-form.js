// The fields that a key's creation and its change have in common.
import { useState } from 'preact/hooks'
import { ChecksField, TextField, wrongWith } from '../components/form.js'
import { ModelsField } from '../components/models.js'
import { count, typed } from '../format.js'
import { html } from '../html.js'
import { useCatalog } from '../resource.js'
import { LIMITS, numberOrNull, permissionsOf, same } from '../values.js'

export const KEY_FIELDS = ['name', 'kind', 'environment', 'models', 'permissions', 'limits', 'expiresAt']

/** A key's changeable fields as a form holds them: texts and lists. permissions null: its kind's. */
export function draftOf(key) {
  return {
    name: key?.name ?? '',
    models: key?.models ?? [],
    permissions: key?.permissions ?? null,
    limits: Object.fromEntries(LIMITS.map(([name]) => [name, typed(key?.limits[name])])),
    expiresAt: localOf(key?.expiresAt),
  }
}

/** The same as the API takes them. */
export function fieldsOf(draft) {
  return {
    name: draft.name,
    models: draft.models,
    ...(draft.permissions && { permissions: draft.permissions }),
    limits: Object.fromEntries(LIMITS.map(([name]) => [name, numberOrNull(draft.limits[name])])),
    expiresAt: draft.expiresAt === '' ? null : `${draft.expiresAt.slice(0, 16)}:00.000Z`,
  }
}

/** What <input type=datetime-local> holds, in UTC. */
function localOf(rfc3339) {
  return rfc3339 ? new Date(rfc3339).toISOString().slice(0, 16) : ''
}

/** @param {{draft: object, set: (changes: object) => void, error?: Error, kind: string, plan: string,
 *   environment: string}} props */
export function KeyFields({ draft, set, error, kind, plan, environment }) {
  const usual = usePlanLimits(plan, environment)
  return html`
    <${TextField} label="Name" required maxlength="120" value=${draft.name} onValue=${(name) => set({ name })}
      wrong=${wrongWith(error, 'name')} hint="Where it is used, such as “Backend”." />
    <details class="more-fields" open=${Boolean(error?.details?.some(({ field }) => field !== 'name'))}>
      <summary>Models, permissions, limits, expiry</summary>
      <${ModelsField} label="Models that it may use" value=${draft.models} onValue=${(models) => set({ models })}
        wrong=${wrongWith(error, 'models')} hint="Models or tiers. None named: all that the project allows." />
      <${Permissions} draft=${draft} set=${set} kind=${kind} wrong=${wrongWith(error, 'permissions')} />
      <div class="columns">${LIMITS.map(
        ([name, label]) => html`<${TextField} key=${name} label=${label} inputmode="numeric" value=${draft.limits[name]}
          placeholder=${placeholder(usual, name)} wrong=${wrongWith(error, `limits.${name}`)}
          onValue=${(value) => set({ limits: { ...draft.limits, [name]: value } })} />`,
      )}</div>
      <p class="hint">A limit that is left empty is the plan’s.</p>
      <${TextField} label="Expires at (UTC)" type="datetime-local" value=${draft.expiresAt}
        onValue=${(expiresAt) => set({ expiresAt })} wrong=${wrongWith(error, 'expiresAt')} hint="Left empty: never." />
    </details>`
}

/** A key that may do all that its kind can is not restricted; whether somebody is about to do so is not in the draft. */
function Permissions({ draft, set, kind, wrong }) {
  const [asked, setAsked] = useState(false)
  const options = permissionsOf(kind)
  const all = options.map(([name]) => name)
  const value = draft.permissions ?? all
  const restricted = asked || !same(value, all)
  const change = (event) => {
    setAsked(event.target.checked)
    if (!event.target.checked && draft.permissions) set({ permissions: all })
  }
  return html`<label class="check"><input type="checkbox" checked=${restricted} onChange=${change} /> Restrict what it may do</label>
    ${
      restricted &&
      html`<${ChecksField} label="What it may do" options=${options} wrong=${wrong} value=${value}
        onValue=${(permissions) => set({ permissions })} />`
    }`
}

function usePlanLimits(plan, environment) {
  const { data } = useCatalog()
  return data?.plans.find(({ name }) => name === plan)?.[environment] ?? {}
}

function placeholder(usual, name) {
  const limit = usual[name]
  if (limit === undefined) return ''
  return limit ? count(limit) : 'no limit'
}
