// Choosing models: names of the catalog and tiers.
import { useId, useRef, useState } from 'preact/hooks'
import { html } from '../html.js'
import { useCatalog } from '../resource.js'
import { Button } from './button.js'

/** The catalog's names, as suggestions for an input with list=id. */
export function ModelList({ id, tiers = true }) {
  const { data } = useCatalog()
  if (!data) return null
  const names = [...(tiers ? data.tiers.map((tier) => tier.name) : []), ...data.models.map((model) => model.name)]
  return html`<datalist id=${id}>${names.map((name) => html`<option value=${name} key=${name} />`)}</datalist>`
}

const NOTHING = { text: '', name: '', names: null }

/**
 * A list of names with one more being typed. That one is in the list too, from the first letter on: a form that
 * is sent without it would allow what it was to forbid.
 */
function useTyped(value, onValue) {
  const [typed, setTyped] = useState(NOTHING)
  const { text, name } = typed.names === value ? typed : NOTHING // else the form was filled anew
  const added = value.filter((other) => other !== name)
  const put = (names, text) => {
    const last = text.trim()
    const counts = last !== '' && !names.includes(last)
    const all = counts ? [...names, last] : names
    setTyped({ text, name: counts ? last : '', names: all })
    onValue(all)
  }
  const type = (to) => put(added, to)
  const drop = (gone) =>
    put(
      added.filter((other) => other !== gone),
      text,
    )
  const finish = () => setTyped(NOTHING)
  return { text, added, type, drop, finish }
}

/** A list of models and tiers that may be used; an empty one allows all. */
export function ModelsField({ label, hint, wrong, value, onValue }) {
  const id = useId()
  const input = useRef(null)
  const { text, added, type, finish, drop } = useTyped(value, onValue)
  const enter = (event) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    finish()
  }
  const add = () => {
    finish()
    input.current.focus()
  }
  return html`<div class=${`field ${wrong ? 'wrong' : ''}`}>
    <label for=${id}>${label}</label>
    <div class="inline">
      <input id=${id} ref=${input} list=${`${id}-names`} value=${text} autocomplete="off" aria-describedby=${`${id}-hint`}
        placeholder="Name of a model or tier" onInput=${(event) => type(event.target.value)} onKeyDown=${enter} />
      <${Button} changes onClick=${add}>Add<//>
    </div>
    <${ModelList} id=${`${id}-names`} />
    <p class="hint" id=${`${id}-hint`}>${hint}</p>
    ${wrong && html`<p class="field-error" role="alert">${wrong}</p>`}
    <${Unlisted} names=${value} />
    <${Chips} label=${label} value=${added} onRemove=${drop} />
  </div>`
}

/** Names that the catalog does not list, in case one is misspelt. What a name allows is the gateway's to say. */
function Unlisted({ names }) {
  const { data } = useCatalog()
  if (!data) return null
  const listed = new Set([...data.tiers, ...data.models].flatMap(({ name, aliases = [] }) => [name, ...aliases]))
  const others = names.filter((name) => !listed.has(name) && !name.includes('/')) // provider/model has many spellings
  return html`<p class="warning" role="status">${others.length > 0 && `The catalog does not list ${others.join(', ')}: check the spelling.`}</p>`
}

function Chips({ label, value, onRemove }) {
  if (value.length === 0) return null
  return html`<ul class="chips" aria-label=${label}>${value.map(
    (name) => html`<li key=${name}><span>${name}</span><${Button} look="chip" changes onClick=${() => onRemove(name)}>
      <span class="visually-hidden">Remove ${name}</span><span aria-hidden="true">×</span>
    <//></li>`,
  )}</ul>`
}

/** What a list of models allows, in words. */
export function allowed(models) {
  return models.length === 0 ? 'all' : models.join(', ')
}
