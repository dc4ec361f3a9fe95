// The playground: sends a chat request with an API key to a tier or a model.
import { useEffect, useRef, useState } from 'preact/hooks'
import { adviceFor, costOf, requestOf, streamChat } from '../chat.js'
import { Button } from '../components/button.js'
import { CopyButton } from '../components/copy.js'
import { SelectField, TextField } from '../components/form.js'
import { Card, Page } from '../components/page.js'
import { html } from '../html.js'
import { useCatalog } from '../resource.js'
import { to } from '../router.js'
import { rememberedKey, rememberKey } from '../session.js'
import { curl } from '../snippets.js'
import { numberOf } from '../values.js'
import { Answer } from './answer.js'

const IDLE = { phase: 'idle', text: '', facts: null, usage: null, error: null }
const START = { target: 'balanced', system: '', user: 'Hello!', maxTokens: '1000', temperature: '0.7' }

export function PlaygroundPage({ project }) {
  const [key, setKey] = useState(rememberedKey(project.id)?.value ?? '')
  const [form, setForm] = useState(START)
  const chat = useChat(project)
  const sent = { ...form, maxTokens: numberOrEmpty(form.maxTokens), temperature: numberOrEmpty(form.temperature) }
  const send = (event) => {
    event.preventDefault()
    rememberKey({
      project: project.id,
      key: rememberedKey(project.id)?.value === key ? rememberedKey(project.id).key : null,
      value: key,
    })
    void chat.start({ ...sent, key: key.trim() })
  }
  const { to: requestPath, body } = requestOf(sent)
  const running = chat.state.phase === 'running'
  return html`<${Page} title="Playground" of=${project.name} lead="Playground requests are billed and count toward your limits.">
    <div class="playground">
      <${Card} title="Request"><form onSubmit=${send}>
        <${KeyField} value=${key} onValue=${setKey} project=${project} />
        <${RequestFields} form=${form} set=${(changes) => setForm({ ...form, ...changes })} />
        <div class="buttons">
          <${Button} look="primary" type="submit" disabled=${running || key.trim() === '' || form.user === ''}>Send<//>
          <${Button} disabled=${!running} onClick=${chat.stop}>Stop<//>
          <${CopyButton} look="" name="curl command" label="Copy as curl" text=${curl(location.origin + requestPath, body, true)} />
        </div>
      </form><//>
      <${Card} title="Response"><${Answer} project=${project} state=${chat.state} advice=${chat.state.error ? adviceFor(chat.state.error) : ''} /><//>
    </div>
  <//>`
}

function numberOrEmpty(text) {
  return text.trim() === '' ? '' : numberOf(text)
}

/** The API key, masked by default and kept only in this page's memory. */
function KeyField({ value, onValue, project }) {
  const [shown, setShown] = useState(false)
  const remembered = rememberedKey(project.id)
  const hint =
    remembered?.key && remembered.value === value
      ? `The key “${remembered.key.name}” that you just created.`
      : 'Paste a gateway key (sk_). This page keeps it in memory only.'
  return html`<div class="key-field">
    <${TextField} label="API key" type=${shown ? 'text' : 'password'} spellcheck=${false} autocapitalize="off" name="postern-key" autocomplete="off"
      value=${value} onValue=${onValue} hint=${hint} />
    <${Button} look="small" aria-pressed=${shown ? 'true' : 'false'} onClick=${() => setShown(!shown)}>Show key<//>
    ${value === '' && html`<a href=${to('projects', project.id, 'keys', 'new')}>Create key</a>`}
  </div>`
}

function RequestFields({ form, set }) {
  const { data } = useCatalog()
  const tiers = data?.tiers.map(({ name }) => name) ?? [form.target]
  const models = data?.models.filter(({ kind }) => kind === 'chat').map(({ name }) => name) ?? []
  const options = [...tiers.map((name) => [name, `Tier: ${name}`]), ...models.map((name) => [name, name])]
  return html`
    <${SelectField} label="Tier or model" options=${options} value=${form.target} onValue=${(target) => set({ target })} />
    <${TextField} label="System message" multiline rows="2" value=${form.system} onValue=${(system) => set({ system })} />
    <${TextField} label="User message" multiline rows="5" required value=${form.user} onValue=${(user) => set({ user })} />
    <div class="columns">
      <${TextField} label="Max tokens" inputmode="numeric" value=${form.maxTokens} onValue=${(maxTokens) => set({ maxTokens })} />
      <${TextField} label="Temperature (0 to 2)" inputmode="decimal" value=${form.temperature} onValue=${(temperature) => set({ temperature })} />
    </div>`
}

/** Sends one request at a time. A new request, stop(), or leaving the page aborts the request in flight. */
function useChat(project) {
  const [state, setState] = useState(IDLE)
  const controller = useRef(null)
  useEffect(() => () => controller.current?.abort(), [])
  const start = async (form) => {
    controller.current?.abort()
    const current = new AbortController()
    controller.current = current
    const update = (changes) =>
      current === controller.current && setState((before) => ({ ...before, ...changes(before) }))
    const startMs = performance.now()
    setState({ ...IDLE, phase: 'running' })
    try {
      await streamChat(form, current.signal, ({ text, ...rest }) =>
        update((before) => (text ? { ...rest, text: before.text + text } : rest)),
      )
      update(() => ({ phase: 'done', totalMs: performance.now() - startMs }))
      await addCost(project, current.signal, update)
    } catch (error) {
      const stopped = error.name === 'AbortError'
      update(() => ({
        phase: stopped ? 'stopped' : 'failed',
        error: stopped ? null : error,
        totalMs: performance.now() - startMs,
      }))
    }
  }
  return { state, start, stop: () => controller.current?.abort() }
}

/** Adds the request's cost if neither the response's headers nor its stream reported it. */
async function addCost(project, signal, update) {
  let missing = ''
  update(({ usage, facts }) => {
    if (usage && usage.costCents === null && facts.costCents === null) missing = facts.requestId
    return {}
  })
  await Promise.resolve() // lets the update above run first, because that update sets "missing"
  if (!missing) return
  const costCents = await costOf(project.id, missing, signal).catch(() => null)
  update(({ usage }) => ({ usage: { ...usage, costCents: costCents ?? undefined } }))
}
