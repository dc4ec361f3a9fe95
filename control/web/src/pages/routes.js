// The routes of tiers: their targets and the strategy that orders them.
import { useEffect, useRef, useState } from 'preact/hooks'
import { get, patch, path } from '../api.js'
import { Badge, Readiness } from '../components/badge.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/dialog.js'
import { ModelName } from '../components/ids.js'
import { Card, Page } from '../components/page.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { Table } from '../components/table.js'
import { orReload } from '../draft.js'
import { count, percent } from '../format.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { price } from '../prices.js'
import { useResource } from '../resource.js'
import { STRATEGIES } from '../values.js'
import { RouteEditor } from './route-editor.js'

export function RoutesPage({ project, setProject, whole }) {
  const routes = useResource((signal) => get(path`projects/${project.id}/routes`, { signal }), [project.id])
  const take = (saved) => {
    setProject(saved)
    routes.reload()
  }
  const lead =
    'A tier is a list of models, called targets. A request goes to one target; if that fails, it falls back to the next.'
  return html`<${Page} title="Routes" of=${project.name} lead=${lead} actions=${html`<${Refresh} of=${routes} />`}>
    <${Loaded} of=${{ ...routes, data: whole.data && routes.data }} what="routes">${({ tiers }) =>
      tiers.length === 0
        ? html`<${Empty} title="No tiers in the catalog"><p>Add tiers with POSTERN_CATALOG. Until then, requests must name a model.</p><//>`
        : tiers.map(
            (tier) => html`<${Tier} key=${tier.name} tier=${tier} project=${project} setProject=${take} />`,
          )}<//>
  <//>`
}

function Tier({ tier, project, setProject }) {
  const [editing, setEditing] = useState(false)
  const [resetting, setResetting] = useState(false)
  const frame = useFocusOnChange(editing)
  const overridden = tier.source === 'project'
  const stored = tier.name in project.routes
  const load = () => get(path`projects/${project.id}`)
  const save = (routes) => patch(path`projects/${project.id}`, { routes, version: project.version })
  const done = (text) => (saved) => {
    setEditing(false)
    setProject(saved)
    notify(text)
  }
  const { [tier.name]: _, ...others } = project.routes
  const buttons = html`<span class="row-actions">
    <${Button} look="small" changes onClick=${() => setEditing(true)}>Edit<span class="visually-hidden"> ${tier.name}</span><//>
    ${stored && html`<${Button} look="small" changes onClick=${() => setResetting(true)}>Reset <span class="visually-hidden">${tier.name} </span>to default<//>`}
  </span>`
  return html`<div ref=${frame}><${Card} title=${tier.name} actions=${!editing && buttons}>
    <p class="muted">${strategyName(tier.strategy)}, ${overridden ? html`<${Badge} of="project override" />` : source(stored)}</p>
    ${
      editing
        ? html`<${RouteEditor} tier=${tier} save=${(route) => save({ ...project.routes, [tier.name]: route })}
          reload=${load} onReloaded=${setProject} onSaved=${done(`Route ${tier.name} saved`)} onCancel=${() => setEditing(false)} />`
        : html`<${Table} caption=${`Targets of ${tier.name}, in order`} columns=${columns(tier)} rows=${tier.targets} rowKey=${(target, i) => `${i} ${target.model}`} />`
    }
    ${
      resetting &&
      html`<${Confirm} title=${`Reset ${tier.name}?`} action="Reset to default" act=${() => orReload(() => save(others), load, setProject)} onClose=${() => setResetting(false)}
      onDone=${done(`Route ${tier.name} reset to default`)}><p>Deletes this project’s override. The tier uses the catalog’s targets again.</p><//>`
    }
  <//></div>`
}

function source(stored) {
  return stored
    ? 'catalog default, because the catalog has none of the models in this project’s override'
    : 'catalog default'
}

function strategyName(strategy) {
  return STRATEGIES.find(([name]) => name === strategy)?.[1] ?? strategy
}

/** Focuses the first control when the editor replaces the table or vice versa. */
function useFocusOnChange(editing) {
  const frame = useRef(null)
  const before = useRef(editing)
  useEffect(() => {
    if (before.current !== editing) frame.current.querySelector('select, button')?.focus()
    before.current = editing
  }, [editing])
  return frame
}

function columns(tier) {
  const position = (target) => count(tier.targets.indexOf(target) + 1)
  const weighted = tier.strategy === 'weighted'
  return [
    { label: 'Order', cell: position },
    {
      label: 'Model',
      head: true,
      cell: (target) =>
        html`<${ModelName} of=${target.model} />${!target.allowed && html` <${Badge} of="not allowed" look="warn" />`}`,
    },
    { label: 'Provider', cell: (target) => target.provider },
    ...(weighted
      ? [
          {
            label: 'Traffic share',
            num: true,
            cell: (target) => (target.share === null ? '–' : percent(target.share, 1)),
          },
        ]
      : []),
    { label: 'Input per 1M', num: true, cell: (target) => price(target.inputPrice) },
    { label: 'Output per 1M', num: true, cell: (target) => price(target.outputPrice) },
    { label: 'Credentials', cell: (target) => html`<${Readiness} ready=${target.ready} />` },
    {
      label: 'Health',
      cell: (target) =>
        target.state ? html`<${Badge} of=${target.state} />` : html`<span class="muted">unknown</span>`,
    },
  ]
}
