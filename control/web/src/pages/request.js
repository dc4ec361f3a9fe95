// One request: what happened to it and why, its attempts, and the resources that it used.

import { useState } from 'preact/hooks'
import { path } from '../api.js'
import { Badge, Status } from '../components/badge.js'
import { Button } from '../components/button.js'
import { CodeBlock, CopyButton } from '../components/copy.js'
import { DocsLink } from '../components/docs.js'
import { ModelName, WithIds } from '../components/ids.js'
import { Money } from '../components/money.js'
import { Outcome, requestsHref } from '../components/outcomes.js'
import { Card, Page } from '../components/page.js'
import { Failure, Loaded, Refresh, Time } from '../components/states.js'
import { Facts, Table } from '../components/table.js'
import { count, duration, plural, span } from '../format.js'
import { errorDocs } from '../help.js'
import { html } from '../html.js'
import { hrefOf } from '../ids.js'
import { causeWords, followedBy, RECORDED, resultWords } from '../outcomes.js'
import { findRequest, firstOf } from '../palette/sources.js'
import REMEDIES from '../remedies.json' with { type: 'json' }
import { useAction, useResource } from '../resource.js'
import { navigate, to } from '../router.js'
import { curlAgain } from '../snippets.js'
import { zoned } from '../zone.js'
import { Decision } from './governor-try.js'
import { useKeyNames } from './violations.js'

export function RequestPage({ project, params: { request: id } }) {
  const request = useRequest(project, id)
  const names = useKeyNames(project)
  return html`<${Page} title="Request" of=${project.name} actions=${html`<${Refresh} of=${request} />`}>
    <p class="copyable"><code>${id}</code> <${CopyButton} text=${id} name="request ID" /></p>
    <${FoundRequest} of=${request} id=${id} project=${project} names=${names} />
    <p><a href=${requestsHref(project)}>View all requests</a></p>
  <//>`
}

/** A request as a resource. The data is null if the project has no record of the request. */
export function useRequest(project, id) {
  return useResource((signal) => load(project, id, signal), [id])
}

async function load(project, id, signal) {
  const options = { query: { request: id }, wanted: 1, signal }
  const { items } = await firstOf(path`projects/${project.id}/requests`, 'requests', options)
  return items[0] ?? null
}

/** The content of a request's page. @param {{of: import('../resource.js').Resource<any>, id: string, project: object, names: Map<string, string>}} props */
export function FoundRequest({ of: request, id, project, names }) {
  return html`<${Loaded} of=${request} what="the request">${(found) =>
    found ? html`<${Request} of=${found} project=${project} names=${names} />` : html`<${NotRecorded} id=${id} />`}<//>`
}

/** The content of a recorded request. An item in the list of requests contains all the data for it. */
export function Request({ of: request, project, names }) {
  const { diagnosis } = request
  return html`
    <${Card} title="What happened"><${Verdict} of=${request} project=${project} /><//>
    ${diagnosis?.attempts && html`<${Card} title="Attempts"><${Attempts} of=${diagnosis} /><//>`}
    <${Card} title="Details"><${Facts} rows=${factRows(request, project, names)} />
      ${!diagnosis && html`<p class="muted">Endpoint, attempts, limits and the Governor’s decision are recorded only of requests that were not served.</p>`}<//>
    <${Card} title="Time, tokens and cost"><${Facts} rows=${useRows(request)} /><//>
    ${diagnosis?.limits && html`<${Card} title="Limits at that moment"><${Limits} of=${diagnosis.limits} /><//>`}
    ${diagnosis?.endpoint && html`<${Again} of=${diagnosis} />`}`
}

/** The outcome, the error and its remedy. */
function Verdict({ of: { outcome, cause, status, code, diagnosis }, project }) {
  return html`<p><${Outcome} of=${outcome} />${cause && html` <strong>${causeWords(cause)}</strong>`}</p>
    ${outcome === null && html`<p>It did not settle in time, so its outcome is not known and its reserved amount was charged.</p>`}
    <${Facts} rows=${[
      ['Status', html`<${Status} code=${status} />`],
      ...(code ? [['Code', html`<${DocsLink} href=${errorDocs(code)}><code>${code}</code><//>`]] : []),
      ...(diagnosis ? [['Message', diagnosis.message]] : []),
      ...(REMEDIES[code] ? [['Remedy', html`<${Remedy} of=${REMEDIES[code]} />`]] : []),
    ]} />
    ${
      diagnosis?.details &&
      html`<h3>Details of the error</h3><ul class="error-details">${diagnosis.details.map(
        ({ field, message }, i) =>
          html`<li key=${i}><code>${field}</code> <${WithIds} text=${message} project=${project.id} /></li>`,
      )}</ul>`
    }`
}

/** A remedy from docs/reference/errors.md. Names are in backticks. */
function Remedy({ of: text }) {
  return html`${text.split('`').map((piece, i) => (i % 2 === 1 ? html`<code key=${i}>${piece}</code>` : piece))}`
}

const ATTEMPT_COLUMNS = [
  { label: 'Attempt', head: true, cell: ({ number }) => number },
  { label: 'Target', cell: (row) => html`<${ModelName} of=${row.model} /><span class="under">${row.provider}</span>` },
  { label: 'Result', cell: ({ result }) => resultWords(result) },
  { label: 'What followed', cell: ({ followed }) => followed },
  { label: 'Started after', num: true, cell: ({ startMs }) => duration(startMs) },
  { label: 'Duration', num: true, cell: ({ durationMs }) => duration(durationMs) },
]

const NO_MESSAGE =
  'Its message is shown to owners only, and stored if the project’s settings say so and its own provider key was not used.'

function Attempts({ of: { attempts, providerError } }) {
  const rows = attempts.map((attempt, i) => ({ ...attempt, number: i + 1, followed: followedBy(attempts, i) }))
  return html`<${Table} caption="Attempts, oldest first" columns=${ATTEMPT_COLUMNS} rows=${rows} rowKey=${({ number }) => String(number)} />
    ${
      providerError &&
      html`<h3>Last error of a provider</h3><${Facts} rows=${[
        ['Status', html`<${Status} code=${providerError.status} />`],
        ['Type', providerError.type && html`<code>${providerError.type}</code>`],
        ['Code', providerError.code && html`<code>${providerError.code}</code>`],
        ['Message', providerError.message],
      ].filter(([, value]) => value)} />
      ${!providerError.message && html`<p class="muted">${NO_MESSAGE}</p>`}`
    }`
}

function factRows({ time, keyId, userAgent, model, provider, stream, diagnosis }, project, names) {
  const { requestedModel, endpoint, governor, user, finishReason } = diagnosis ?? {}
  const rows = [
    [zoned('Time'), html`<${Time} at=${time} />`],
    ['API key', html`<a href=${hrefOf(keyId, project.id)}>${names.get(keyId) ?? keyId}</a>`],
    ['Client', userAgent ?? html`<span class="muted">none named</span>`],
    ['End user', user && html`<code>${user}</code>`],
    ['Endpoint', endpoint && html`<code>${endpoint}</code>`],
    ['Requested model', diagnosis && html`<${ModelName} of=${requestedModel} none="none of the catalog" />`],
    ['Model used', html`<${ModelName} of=${provider || !diagnosis ? model : null} none="none" />`],
    ['Provider', provider ?? html`<span class="muted">none was called</span>`],
    ['Response', stream ? 'stream' : 'whole'],
    ['Finish reason', finishReason && html`<code>${finishReason}</code>`],
    ['Governor', governor && html`<${Governor} of=${governor} href=${violationsHref(project, keyId)} />`],
    [
      'Violations',
      governor?.rules?.map(
        (rule) =>
          html`<a class="under" key=${rule} href=${violationsHref(project, keyId, { rule, ...daysAround(time) })}><code>${rule}</code></a>`,
      ),
    ],
  ]
  return rows.filter(([, value]) => value)
}

function violationsHref(project, key, filters = {}) {
  return `${to('projects', project.id, 'violations')}?${new URLSearchParams({ key, ...filters })}`
}

/**
 * The first and the last date on which a request's violation can have begun. All findings within a minute share a
 * violation, and a request may take minutes.
 */
function daysAround(time) {
  const date = (minutes) => new Date(Date.parse(time) + minutes * 60_000).toISOString().slice(0, 10)
  return { from: date(-1), to: date(10) }
}

function Governor({ of: { decision, risk, policy }, href }) {
  return html`<${Decision} of=${decision} /> with risk score ${risk}, policy version ${policy}. <a href=${href}>Violations of the key</a>`
}

function useRows({
  latencyMs,
  timeToFirstTokenMs: first,
  promptTokens,
  completionTokens,
  cost,
  estimated,
  cache,
  promptCache,
}) {
  const { readTokens, writeTokens, saved } = promptCache
  const rows = [
    ['Total time', duration(latencyMs)],
    ['Time to first token', first !== null && duration(first)],
    ['Tokens', `${count(promptTokens)} in, ${count(completionTokens)} out`],
    ['Cost', html`<${Money} of=${cost} />${estimated && ', estimated'}`],
    ['Cache', html`<${Badge} of=${cache} />`],
    [
      'Prompt cache',
      readTokens + writeTokens > 0 &&
        html`${count(readTokens)} tokens read, ${count(writeTokens)} written, <${Money} of=${saved} /> saved`,
    ],
  ]
  return rows.filter(([, value]) => value)
}

const LIMIT_COLUMNS = [
  {
    label: 'Limit',
    head: true,
    cell: ({ tokens, limit, windowMs }) => `${plural(limit, tokens ? 'token' : 'request')} in ${span(windowMs / 1000)}`,
  },
  { label: 'Remaining', num: true, cell: ({ remaining }) => count(remaining) },
  { label: 'Resets after', num: true, cell: ({ resetMs }) => duration(resetMs) },
]

function Limits({ of: limits }) {
  return html`<${Table} caption="Limits of the key" columns=${LIMIT_COLUMNS} rows=${limits}
    rowKey=${({ tokens, windowMs }) => `${tokens} ${windowMs}`} />`
}

function Again({ of: diagnosis }) {
  return html`<${Card} title="Send it again">
    <p class="muted">Bodies and keys are not stored: put in the body, and set <code>POSTERN_API_KEY</code> to a key.</p>
    <${CodeBlock} title="curl" text=${curlAgain(location.origin, diagnosis)} />
  <//>`
}

/** Explains why a request may be missing, and offers a search in the other projects. */
function NotRecorded({ id }) {
  const [searched, progress] = useState(0)
  const search = useAction(async () => {
    const { hit } = await findRequest(id, { progress })
    if (!hit) return 'none'
    navigate(hrefOf(id, hit.project.id))
    return undefined
  })
  const [missing, setMissing] = useState(false)
  const look = async () => setMissing((await search.run()) === 'none')
  return html`<${Card} title="Not recorded">
    <p>This project has no record of the request. It may have ended only seconds ago, be too old, or belong to another project. One whose key is not known belongs to none.</p>
    <p>${RECORDED}</p>
    <div class="buttons"><${Button} busy=${search.busy} onClick=${look}>Look in all projects<//></div>
    <p role="status">${search.busy ? `Looked in ${plural(searched, 'project')} so far …` : missing && 'No project of this deployment has recorded it.'}</p>
    ${search.error && html`<${Failure} error=${search.error} what="the other projects" />`}
  <//>`
}
