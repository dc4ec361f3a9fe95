// Fields for model and tier names.
import { useId, useRef, useState } from 'preact/hooks'
import { html } from '../html.js'
import { useCatalog } from '../resource.js'
import { Button } from './button.js'

/** A datalist with the names in the catalog. An input with list=id suggests them. */
export function ModelList({ id, tiers = true }) {
  const { data } = useCatalog()
  if (!data) return null
  const names = [...(tiers ? data.tiers.map((tier) => tier.name) : []), ...data.models.map((model) => model.name)]
  return html`<datalist id=${id}>${names.map((name) => html`<option value=${name} key=${name} />`)}</datalist>`
}

const NOTHING_TYPED = { text: '', name: '', names: null }

/**
 * A list of names and the text of the next name. A name is part of the list while the user is still typing it. The
 * form may be submitted before "Add", and an empty list would allow every model.
 */
function useTypedName(value, onValue) {
  const [typed, setTyped] = useState(NOTHING_TYPED)
  const { text, name } = typed.names === value ? typed : NOTHING_TYPED // the form was refilled
  const added = value.filter((other) => other !== name)
  const update = (names, text) => {
    const last = text.trim()
    const isNew = last !== '' && !names.includes(last)
    const all = isNew ? [...names, last] : names
    setTyped({ text, name: isNew ? last : '', names: all })
    onValue(all)
  }
  const type = (newText) => update(added, newText)
  const remove = (name) =>
    update(
      added.filter((other) => other !== name),
      text,
    )
  const commit = () => setTyped(NOTHING_TYPED)
  return { text, added, type, remove, commit }
}

/** An allowlist of models and tiers. An empty list allows all. */
export function ModelsField({ label, hint, wrong, value, onValue }) {
  const id = useId()
  const input = useRef(null)
  const { text, added, type, commit, remove } = useTypedName(value, onValue)
  const enter = (event) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    commit()
  }
  const add = () => {
    commit()
    input.current.focus()
  }
  return html`<div class=${`field ${wrong ? 'wrong' : ''}`}>
    <label for=${id}>${label}</label>
    <div class="inline">
      <input id=${id} ref=${input} list=${`${id}-names`} value=${text} autocomplete="off" aria-describedby=${`${id}-hint`}
        placeholder="Model or tier" onInput=${(event) => type(event.target.value)} onKeyDown=${enter} />
      <${Button} changes onClick=${add}>Add<//>
    </div>
    <${ModelList} id=${`${id}-names`} />
    <p class="hint" id=${`${id}-hint`}>${hint}</p>
    ${wrong && html`<p class="field-error" role="alert">${wrong}</p>`}
    <${Unlisted} names=${value} />
    <${Chips} label=${label} value=${added} onRemove=${remove} />
  </div>`
}

/** A warning about names that are not in the catalog and may be misspelled. The gateway decides what matches. */
function Unlisted({ names }) {
  const { data } = useCatalog()
  if (!data) return null
  const listed = new Set([...data.tiers, ...data.models].flatMap(({ name, aliases = [] }) => [name, ...aliases]))
  const unlisted = names.filter((name) => !listed.has(name) && !name.includes('/')) // a name of the form provider/model has many spellings
  return html`<p class="warning" role="status">${unlisted.length > 0 && `Not in the catalog: ${unlisted.join(', ')}. Check the spelling.`}</p>`
}

function Chips({ label, value, onRemove }) {
  if (value.length === 0) return null
  return html`<ul class="chips" aria-label=${label}>${value.map(
    (name) => html`<li key=${name}><span>${name}</span><${Button} look="chip" changes onClick=${() => onRemove(name)}>
      <span class="visually-hidden">Remove ${name}</span><span aria-hidden="true">×</span>
    <//></li>`,
  )}</ul>`
}
