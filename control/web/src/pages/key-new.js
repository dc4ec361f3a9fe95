// A new key, and its value, which is shown this once.
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
import { ENVIRONMENTS, KINDS } from '../values.js'
import { draftOf, fieldsOf, KEY_FIELDS, KeyFields } from './key-form.js'

export function NewKeyPage({ project }) {
  const [made, setMade] = useState(null)
  return html`<${Page} title=${made ? 'Key created' : 'New key'} of=${project.name}>
    ${made ? html`<${KeyValue} project=${project} made=${made} />` : html`<${NewKey} project=${project} onMade=${setMade} />`}
  <//>`
}

function NewKey({ project, onMade }) {
  const [kind, setKind] = useState('gateway')
  const [chosen, setEnvironment] = useState(null)
  const ready = useProviders(project)
  const environment = chosen ?? (ready === false ? 'development' : 'production')
  const [draft, setDraft] = useState(draftOf())
  const choose = (value) => {
    setKind(value)
    setDraft({ ...draft, permissions: null }) // another kind has others
  }
  const { busy, error, run } = useAction(async () => {
    const made = await post(path`projects/${project.id}/keys`, { ...said(fieldsOf(draft)), kind, environment })
    if (made.kind === 'gateway') rememberKey({ project: project.id, key: made, value: made.value })
    notify(`Key ${made.name} created`)
    onMade(made)
  })
  return html`<${Card}><${Form} onSubmit=${run}>
    <div class="columns">
      <${SelectField} label="Kind" options=${KINDS} value=${kind} onValue=${choose} wrong=${wrongWith(error, 'kind')} />
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

/** Whether any tier of the project has a model whose provider can be asked; undefined while that is not known. */
function useProviders(project) {
  const { data } = useResource((signal) => get(path`projects/${project.id}/routes`, { signal }), [project.id])
  return data?.tiers.some(({ targets }) => targets.some(({ ready }) => ready))
}

function environmentHint(environment, ready) {
  if (environment === 'development') return 'The built-in provider answers, at no cost: good for a first try.'
  if (ready === false)
    return 'No provider is set up for this project yet, so requests would fail: set its key under Provider keys, or start with a development key.'
  return 'Providers answer, and the budget pays.'
}

/** Leaves out what is as it would be anyway. */
function said({ models, limits, expiresAt, ...rest }) {
  const own = Object.values(limits).some((limit) => limit !== null)
  return { ...rest, ...(models.length > 0 && { models }), ...(own && { limits }), ...(expiresAt && { expiresAt }) }
}

/** A key's value with what can be done with it at once. */
function KeyValue({ project, made }) {
  const frame = useRef(null)
  useEffect(() => frame.current.focus(), [])
  return html`<div class="key-value" tabindex="-1" ref=${frame}>
    <${SecretOnce} label=${`Value of the key ${made.name}`} value=${made.value}>
      <div class="buttons">
        ${
          made.kind === 'gateway' &&
          html`<${ButtonLink} href=${to('projects', project.id, 'playground')} look="primary">Try it in the playground<//>`
        }
        <${ButtonLink} href=${to('projects', project.id, 'keys')}>I have kept it: to the keys<//>
      </div>
    <//>
    <h2>Use it</h2>
    <div class="snippets">${snippetsFor(location.origin, project.id, made).map(
      (snippet) => html`<${CodeBlock} key=${snippet.title} ...${snippet} />`,
    )}</div>
  </div>`
}
