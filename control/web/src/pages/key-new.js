// The form for a new API key, and the new key's value, which is shown once.
import { useEffect, useRef, useState } from 'preact/hooks'
import { get, path, post } from '../api.js'
import { Button, ButtonLink } from '../components/button.js'
import { CodeBlock, SecretOnce } from '../components/copy.js'
import { Form, FormError, SelectField, wrongWith } from '../components/form.js'
import { Card, Page } from '../components/page.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction, useResource } from '../resource.js'
import { to } from '../router.js'
import { rememberKey } from '../session.js'
import { snippetsFor } from '../snippets.js'
import { ENVIRONMENTS, KINDS, same } from '../values.js'
import { draftOf, fieldsOf, KEY_FIELDS, KeyFields } from './key-form.js'

export function NewKeyPage({ project }) {
  const [created, setCreated] = useState(null)
  return html`<${Page} title=${created ? 'Key created' : 'New key'} of=${project.name}>
    ${created ? html`<${CreatedKey} project=${project} created=${created} />` : html`<${NewKey} project=${project} onCreated=${setCreated} />`}
  <//>`
}

function NewKey({ project, onCreated }) {
  const [kind, setKind] = useState('gateway')
  const [selected, setEnvironment] = useState(null)
  const ready = useProviders(project)
  const environment = selected ?? (ready === false ? 'development' : 'production')
  const [draft, setDraft] = useState(draftOf())
  const selectKind = (value) => {
    setKind(value)
    setDraft({ ...draft, permissions: null }) // the permissions depend on the kind
  }
  const { busy, error, run } = useAction(async () => {
    const created = await post(path`projects/${project.id}/keys`, {
      ...withoutDefaults(fieldsOf(draft)),
      kind,
      environment,
    })
    if (created.kind === 'gateway') rememberKey({ project: project.id, key: created, value: created.value })
    notify(`Key ${created.name} created`)
    onCreated(created)
  })
  return html`<${Card}><${Form} onSubmit=${run} edited=${kind !== 'gateway' || !same(draft, draftOf())}>
    <div class="columns">
      <${SelectField} label="Kind" options=${KINDS} value=${kind} onValue=${selectKind} wrong=${wrongWith(error, 'kind')} />
      <${SelectField} label="Environment" options=${ENVIRONMENTS} value=${environment} onValue=${setEnvironment}
        wrong=${wrongWith(error, 'environment')} hint=${environmentHint(environment, ready)} />
    </div>
    <${KeyFields} draft=${draft} set=${(changes) => setDraft({ ...draft, ...changes })} error=${error} kind=${kind} plan=${project.plan} environment=${environment} />
    <${FormError} error=${error} shown=${KEY_FIELDS} />
    <div class="buttons">
      <${Button} look="primary" type="submit" changes busy=${busy}>Create key<//>
      <${ButtonLink} href=${to('projects', project.id, 'keys')}>Cancel<//>
    </div>
  <//><//>`
}

/** Whether any tier of the project has a target with provider credentials. Undefined until the routes have loaded. */
function useProviders(project) {
  const { data } = useResource((signal) => get(path`projects/${project.id}/routes`, { signal }), [project.id])
  return data?.tiers.some(({ targets }) => targets.some(({ ready }) => ready))
}

function environmentHint(environment, ready) {
  if (environment === 'development') return 'Returns free test responses from the built-in mock provider.'
  if (ready === false)
    return 'No provider is configured for this project, so requests will fail. Set a provider key first, or create a development key.'
  return 'Sends requests to real providers and spends budget.'
}

function withoutDefaults({ models, budget, budgetPeriod, enforce, limits, expiresAt, ...rest }) {
  const limited = Object.values(limits).some((limit) => limit !== null)
  return {
    ...rest,
    ...(models.length > 0 && { models }),
    ...(budget !== null && { budget }),
    ...(budgetPeriod !== draftOf().budgetPeriod && { budgetPeriod }),
    ...(enforce !== draftOf().enforce && { enforce }),
    ...(limited && { limits }),
    ...(expiresAt && { expiresAt }),
  }
}

/** The new key's value and snippets that use it. */
function CreatedKey({ project, created }) {
  const frame = useRef(null)
  useEffect(() => frame.current.focus(), [])
  return html`<div class="key-value" tabindex="-1" ref=${frame}>
    <${SecretOnce} label=${`API key “${created.name}”`} value=${created.value}>
      <div class="buttons">
        ${
          created.kind === 'gateway' &&
          html`<${ButtonLink} href=${to('projects', project.id, 'playground')} look="primary">Try it in the playground<//>`
        }
        <${ButtonLink} href=${to('projects', project.id, 'keys')}>I’ve saved this key<//>
      </div>
    <//>
    <h2>Use this key</h2>
    <div class="snippets">${snippetsFor(location.origin, project.id, created).map(
      (snippet) => html`<${CodeBlock} key=${snippet.title} ...${snippet} />`,
    )}</div>
  </div>`
}
