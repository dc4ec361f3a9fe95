// The form in which a project overrides a tier.
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../components/button.js'
import { Conflict } from '../components/conflict.js'
import { Form, FormError, SelectField } from '../components/form.js'
import { ModelList } from '../components/models.js'
import { typed } from '../format.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction } from '../resource.js'
import { numberOf, STRATEGIES, same } from '../values.js'

let nextId = 0

/** A target in the form. It keeps its id when it moves, so the row keeps its inputs. */
const rowOf = (model = '', weight = '') => ({ id: nextId++, model, weight })

/**
 * @param {{tier: object, save: (route: object) => Promise<any>, reload: () => Promise<any>, onReloaded: (project: any) => void,
 *   onSaved: (project: any) => void, onCancel: () => void}} props
 */
export function RouteEditor({ tier, save, reload, onReloaded, onSaved, onCancel }) {
  const [strategy, setStrategy] = useState(tier.strategy)
  const [targets, setTargets] = useState(tier.targets.map(({ model, weight }) => rowOf(model, typed(weight))))
  const [before] = useState(() => routeOf(strategy, targets))
  const { busy, error, run, clear } = useAction(async () => onSaved(await save(routeOf(strategy, targets))))
  const reloaded = (project) => {
    onReloaded(project)
    clear()
  }
  return html`<${Form} onSubmit=${run} edited=${!same(routeOf(strategy, targets), before)} aria-label=${`Route ${tier.name}`}>
    <${SelectField} label="Strategy" options=${STRATEGIES} value=${strategy} onValue=${setStrategy} />
    <${Targets} targets=${targets} setTargets=${setTargets} weighted=${strategy === 'weighted'} />
    ${error?.status === 409 ? html`<${Conflict} load=${reload} onLoaded=${reloaded} />` : html`<${FormError} error=${error} />`}
    <div class="buttons">
      <${Button} look="primary" type="submit" changes busy=${busy}>Save route<//>
      <${Button} onClick=${onCancel}>Cancel<//>
    </div>
  <//>`
}

function routeOf(strategy, targets) {
  const filled = targets.filter(({ model }) => model.trim() !== '')
  return {
    strategy,
    targets: filled.map(({ model, weight }) => ({
      model: model.trim(),
      ...(strategy === 'weighted' && weight.trim() !== '' && { weight: numberOf(weight) }),
    })),
  }
}

function Targets({ targets, setTargets, weighted }) {
  const id = useId()
  const list = useRef(null)
  const moved = useRef(null)
  useLayoutEffect(() => {
    if (moved.current) focusButton(list.current, moved.current)
    moved.current = null
  }, [targets])
  const change = (i, changes) => setTargets(targets.map((target, j) => (i === j ? { ...target, ...changes } : target)))
  const move = (i, by) => {
    const next = [...targets]
    next.splice(i + by, 0, ...next.splice(i, 1))
    setTargets(next)
    moved.current = { to: i + by, by }
    notify(`${targets[i].model} moved to position ${i + by + 1}`)
  }
  const remove = (i) => {
    setTargets(targets.filter((_, j) => j !== i))
    notify(`${targets[i].model || 'Empty target'} removed`)
    list.current.focus()
  }
  return html`<div class="targets" role="group" aria-label="Targets" tabindex="-1" ref=${list}>
    <${ModelList} id=${id} tiers=${false} />
    <ol>${targets.map((target, i) => html`<${Target} key=${target.id} ...${{ target, i, list: id, weighted, change, move, remove, last: targets.length - 1 }} />`)}</ol>
    <${Button} changes onClick=${() => setTargets([...targets, rowOf()])}>Add target<//>
  </div>`
}

/**
 * Focuses the button that moves the target further in the same direction. At the end of the list, focuses the other
 * button.
 */
function focusButton(list, { to, by }) {
  const [up, down] = list.querySelectorAll('li')[to].querySelectorAll('button')
  const [same, opposite] = by < 0 ? [up, down] : [down, up]
  const button = same.disabled ? opposite : same
  button.focus()
}

function Target({ target, i, list, weighted, change, move, remove, last }) {
  const name = `target ${i + 1}`
  return html`<li class="target">
    <input aria-label=${`Model of ${name}`} list=${list} value=${target.model} autocomplete="off" placeholder="Model"
      onInput=${(event) => change(i, { model: event.target.value })} />
    ${
      weighted &&
      html`<label class="weight"><span>Weight<span class="visually-hidden"> of ${name}</span></span>
        <input inputmode="numeric" value=${target.weight} autocomplete="off" onInput=${(event) => change(i, { weight: event.target.value })} /></label>`
    }
    <span class="row-actions">
      <${Button} look="small" changes disabled=${i === 0} aria-label=${`Move ${name} up`} onClick=${() => move(i, -1)}>↑<//>
      <${Button} look="small" changes disabled=${i === last} aria-label=${`Move ${name} down`} onClick=${() => move(i, 1)}>↓<//>
      <${Button} look="small danger-text" changes aria-label=${`Remove ${name}`} onClick=${() => remove(i)}>Remove<//>
    </span>
  </li>`
}
