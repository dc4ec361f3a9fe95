// A place to try a key, a tier or a model.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../components/button.js'
import { CopyButton } from '../components/copy.js'
import { SelectField, TextField } from '../components/form.js'
import { Card, Page } from '../components/page.js'
import { adviceFor, converse, costOf, requestOf } from '../converse.js'
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
  const talk = useTalk(project)
  const sent = { ...form, maxTokens: numberOrEmpty(form.maxTokens), temperature: numberOrEmpty(form.temperature) }
  const send = (event) => {
    event.preventDefault()
    rememberKey({
      project: project.id,
      key: rememberedKey(project.id)?.value === key ? rememberedKey(project.id).key : null,
      value: key,
    })
    void talk.start({ ...sent, key: key.trim() })
  }
  const { to: address, body } = requestOf(sent)
  const running = talk.state.phase === 'running'
  return html`<${Page} title="Playground" of=${project.name} lead="Requests from here are real: they count, and they cost what they cost.">
    <div class="playground">
      <${Card} title="Request"><form onSubmit=${send}>
        <${KeyField} value=${key} onValue=${setKey} project=${project} />
        <${RequestFields} form=${form} set=${(changes) => setForm({ ...form, ...changes })} />
        <div class="buttons">
          <${Button} look="primary" type="submit" disabled=${running || key.trim() === '' || form.user === ''}>Send<//>
          <${Button} disabled=${!running} onClick=${talk.stop}>Stop<//>
          <${CopyButton} look="" name="the curl command" label="Copy as curl" text=${curl(location.origin + address, body, true)} />
        </div>
      </form><//>
      <${Card} title="Answer"><${Answer} state=${talk.state} advice=${talk.state.error ? adviceFor(talk.state.error) : ''} /><//>
    </div>
  <//>`
}

function numberOrEmpty(text) {
  return text.trim() === '' ? '' : numberOf(text)
}

/** The key, hidden unless asked for; it is in this page's memory only. */
function KeyField({ value, onValue, project }) {
  const [shown, setShown] = useState(false)
  const made = rememberedKey(project.id)
  const hint =
    made?.key && made.value === value
      ? `The key ${made.key.name} that you have just made.`
      : 'Paste a gateway key. It stays in this page’s memory until the page is closed.'
  return html`<div class="key-field">
    <${TextField} label="Key" type=${shown ? 'text' : 'password'} spellcheck=${false} autocapitalize="off" name="postern-key" autocomplete="off"
      value=${value} onValue=${onValue} hint=${hint} />
    <${Button} look="small" aria-pressed=${shown ? 'true' : 'false'} onClick=${() => setShown(!shown)}>Show key<//>
    ${value === '' && html`<a href=${to('projects', project.id, 'keys', 'new')}>Create a key</a>`}
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
      <${TextField} label="Longest answer (tokens)" inputmode="numeric" value=${form.maxTokens} onValue=${(maxTokens) => set({ maxTokens })} />
      <${TextField} label="Temperature (0 to 2)" inputmode="decimal" value=${form.temperature} onValue=${(temperature) => set({ temperature })} />
    </div>`
}

/** One conversation at a time, which can be stopped, and is when the page is left. */
function useTalk(project) {
  const [state, setState] = useState(IDLE)
  const controller = useRef(null)
  useEffect(() => () => controller.current?.abort(), [])
  const start = async (form) => {
    controller.current?.abort()
    const mine = new AbortController()
    controller.current = mine
    const update = (changes) => mine === controller.current && setState((before) => ({ ...before, ...changes(before) }))
    const began = performance.now()
    setState({ ...IDLE, phase: 'running' })
    try {
      await converse(form, mine.signal, ({ text, ...rest }) =>
        update((before) => (text ? { ...rest, text: before.text + text } : rest)),
      )
      update(() => ({ phase: 'done', totalMs: performance.now() - began }))
      await addCost(project, mine.signal, update)
    } catch (error) {
      const stopped = error.name === 'AbortError'
      update(() => ({
        phase: stopped ? 'stopped' : 'failed',
        error: stopped ? null : error,
        totalMs: performance.now() - began,
      }))
    }
  }
  return { state, start, stop: () => controller.current?.abort() }
}

/** Asks what the request cost if its stream did not tell. */
async function addCost(project, signal, update) {
  let missing = ''
  update(({ usage, facts }) => {
    if (usage && usage.costCents === null && facts.costCents === null) missing = facts.requestId
    return {}
  })
  await Promise.resolve() // the state above is read when the update runs
  if (!missing) return
  const costCents = await costOf(project.id, missing, signal).catch(() => null)
  update(({ usage }) => ({ usage: { ...usage, costCents: costCents ?? undefined } }))
}
