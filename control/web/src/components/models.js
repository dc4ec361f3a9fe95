// Choosing models: names of the catalog and tiers.
import { useId, useState } from 'preact/hooks'
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

/** A list of models and tiers that may be used; an empty one allows all. */
export function ModelsField({ label, hint, wrong, value, onValue }) {
  const id = useId()
  const [text, setText] = useState('')
  const add = () => {
    const name = text.trim()
    if (name && !value.includes(name)) onValue([...value, name])
    setText('')
  }
  const enter = (event) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    add()
  }
  return html`<div class=${`field ${wrong ? 'wrong' : ''}`}>
    <label for=${id}>${label}</label>
    <div class="inline">
      <input id=${id} list=${`${id}-names`} value=${text} autocomplete="off" aria-describedby=${`${id}-hint`}
        placeholder="Name of a model or tier" onInput=${(event) => setText(event.target.value)} onKeyDown=${enter} />
      <${Button} changes disabled=${text.trim() === ''} onClick=${add}>Add<//>
    </div>
    <${ModelList} id=${`${id}-names`} />
    <p class="hint" id=${`${id}-hint`}>${hint}</p>
    ${wrong && html`<p class="field-error" role="alert">${wrong}</p>`}
    <${Chips} label=${label} value=${value} onRemove=${(name) => onValue(value.filter((v) => v !== name))} />
  </div>`
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
