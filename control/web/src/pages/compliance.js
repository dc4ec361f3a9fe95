// Compliance data: a summary, the state of the event chains, downloads, and signed checkpoints.
import { useRef, useState } from 'preact/hooks'
import { errorOf, get, path } from '../api.js'
import { EXPORTS, exportHref, fileName, nextOf } from '../compliance.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { FormError, SelectField, TextField } from '../components/form.js'
import { Card, Page } from '../components/page.js'
import { Empty, Loaded, Refresh, Time } from '../components/states.js'
import { Facts, More, Table } from '../components/table.js'
import { count, plural } from '../format.js'
import { SEVERITIES } from '../governor.js'
import { html } from '../html.js'
import { entryOf, hrefOf } from '../ids.js'
import { useList } from '../lists.js'
import { notify } from '../notices.js'
import { useAction, useResource } from '../resource.js'
import { to } from '../router.js'

const LEAD =
  'Evidence for auditors: the checks in force, every change with its author, and proof that recorded entries were not altered.'
const FORMATS = [
  ['', 'NDJSON'],
  ['cyclonedx', 'CycloneDX'],
]

export function CompliancePage({ project }) {
  const at = path`projects/${project.id}/compliance`
  const summary = useResource((signal) => get(`${at}/summary`, { signal }), [at])
  return html`<${Page} title="Compliance" of=${project.name} lead=${LEAD} actions=${html`<${Refresh} of=${summary} />`}>
    <${Loaded} of=${summary} what="the summary">${(data) => html`<${Summary} data=${data} project=${project} />`}<//>
    <${VerifyCard} at=${at} />
    <${DownloadCard} project=${project} />
    <${CheckpointsCard} at=${at} />
  <//>`
}

function Summary({ data, project }) {
  const { governor, registry, violations, chains, signing, retention } = data
  return html`
    <${Card} title="Coverage"><${Facts} rows=${coverage(governor, registry, violations, project)} /><//>
    <${Card} title="Chain state">
      <p class="muted">Every change is an entry in a chain of hashes: a changed, missing or reordered entry breaks it.</p>
      <${Table} caption="Chains" columns=${CHAINS} rows=${chains} rowKey=${(chain) => chain.object} />
      ${!signing.configured && html`<p class="warning">No signing key is configured, so there are no checkpoints. Set the secret <code>POSTERN_SIGNING_KEY</code> on the server or the control Worker.</p>`}
    <//>
    <${Card} title="Retention"><${Facts} rows=${[
      ['Audit log and events', plural(retention.eventDays, 'day')],
      ['Usage by day', plural(retention.usageDays, 'day')],
      ['Violations', `${plural(retention.violationDays, 'day')}, at most ${count(retention.maxViolations)}`],
      ['Requests', `a sample: the newest ${count(retention.requestBatches)} batches`],
    ]} /><//>`
}

function coverage(governor, registry, violations, project) {
  const page = (name, text) => html`<a href=${to('projects', project.id, name)}>${text}</a>`
  const state = governor.enabled
    ? `enabled${governor.strictMode ? ', strict mode' : ''}, auto-approve threshold ${governor.autoApproveThreshold}`
    : 'disabled: content is not checked'
  const models = Object.entries(registry.states).map(([name, number]) => `${number} ${name}`)
  const rows = [
    ['Governor', html`${page('governor', state)}`],
    ['Input rules', rulesText(governor.input)],
    ['Output rules', rulesText(governor.output)],
    ['Unchecked content', governor.unchecked],
    [
      'Open violations',
      html`${page('violations', count(violations.open))}${violations.open > 0 && ` (${severitiesOf(violations)})`}`,
    ],
    [
      'Registry',
      html`${page('registry', `enforcement ${registry.enforcement}`)}${models.length > 0 && `: ${models.join(', ')}`}`,
    ],
    ['Models without an entry', html`<${Entries} of=${registry.unregistered} project=${project} />`],
    ['Overdue reviews', html`<${Entries} of=${registry.overdueReviews} project=${project} />`],
  ]
  return governor.enabled
    ? rows
    : rows.filter(([name]) => !['Input rules', 'Output rules', 'Unchecked content'].includes(name))
}

/** Models in the registry. A model without an entry has a page once it has been used. */
function Entries({ of: models, project }) {
  if (models.length === 0) return 'none'
  return html`<ul class="links">${models.map(
    (model) => html`<li key=${model}><a href=${hrefOf(entryOf(model), project.id)}>${model}</a></li>`,
  )}</ul>`
}

/** Numbers of rules by action, such as "96 redact, 76 flag". */
function rulesText(counts) {
  return Object.entries(counts)
    .filter(([, number]) => number > 0)
    .map(([action, number]) => `${count(number)} ${action}`)
    .join(', ')
}

/** Numbers of violations, most severe first, such as "1 high, 2 low". */
function severitiesOf({ bySeverity = {} }) {
  return [...SEVERITIES]
    .reverse()
    .filter((severity) => bySeverity[severity] > 0)
    .map((severity) => `${count(bySeverity[severity])} ${severity}`)
    .join(', ')
}

const OBJECTS = { directory: 'Changes', ledger: 'Usage and violations' }
const chainName = (object) => OBJECTS[object] ?? object

const CHAINS = [
  { label: 'Chain', head: true, cell: (chain) => chainName(chain.object) },
  { label: 'Entries', num: true, cell: (chain) => (chain.head ? count(chain.head.seq - chain.oldest + 1) : '0') },
  { label: 'Newest entry', time: true, cell: (chain) => html`<${Time} at=${chain.head?.time} />` },
  { label: 'Newest checkpoint', time: true, cell: (chain) => html`<${Time} at=${chain.checkpoint?.time} />` },
  { label: 'Entries since', num: true, cell: (chain) => count(chain.unsigned) },
]

function VerifyCard({ at }) {
  const [progress, setProgress] = useState(0)
  const [result, setResult] = useState(null)
  const { busy, error, run } = useAction(async () => {
    setResult(null)
    setProgress(0)
    setResult(await verifyAll(at, setProgress))
  })
  return html`<${Card} title="Verification">
    <p>Recomputes the hashes of all stored entries and compares them with the signed checkpoints. To verify an export elsewhere, use the offline verifier with a checkpoint that you kept.</p>
    <div class="buttons"><${Button} busy=${busy} onClick=${() => run()}>Verify records<//></div>
    <p role="status">${busy && progress > 0 ? `${plural(progress, 'entry').replace(/entrys$/, 'entries')} verified so far` : ''}</p>
    <${FormError} error=${error} />
    ${result && html`<${Verdict} of=${result} />`}
  <//>`
}

/** Verifies the chains page by page. @returns the last page's result with the sums of all pages */
async function verifyAll(at, onProgress) {
  let entries = 0
  let checkpoints = 0
  for (let after = ''; ; ) {
    const page = await get(`${at}/verify`, { query: { after } })
    entries += page.entries
    checkpoints += page.checkpoints
    onProgress(entries)
    if (!page.next) return { ...page, entries, checkpoints }
    after = page.next
  }
}

function Verdict({ of: { ok, complete, entries, checkpoints, broken } }) {
  const counts = `${count(entries)} ${entries === 1 ? 'entry' : 'entries'} and ${plural(checkpoints, 'checkpoint')}`
  return html`<p role="alert">${
    ok && complete
      ? html`<${Badge} of="verified" look="good" /> ${counts} match.`
      : html`<${Badge} of="broken" look="bad" /> ${broken ? html`Entry ${broken.seq} of the chain “${chainName(broken.object)}”: ${broken.problem}.` : 'The record could not be verified to its end.'}`
  }</p>`
}

function DownloadCard({ project }) {
  const [chosen, setChosen] = useState({ type: 'inventory', from: '', to: '', format: '' })
  const set = (changes) => setChosen({ ...chosen, ...changes })
  const format = chosen.type === 'inventory' ? chosen.format : ''
  const { busy, error, run } = useDownload(project, { ...chosen, format })
  return html`<${Card} title="Download">
    <div class="columns">
      <${SelectField} label="Type" options=${EXPORTS} value=${chosen.type} onValue=${(type) => set({ type })} />
      ${chosen.type === 'inventory' && html`<${SelectField} label="Format" options=${FORMATS} value=${chosen.format} onValue=${(value) => set({ format: value })} />`}
      <${TextField} label="From (UTC)" type="date" value=${chosen.from} onValue=${(from) => set({ from })} />
      <${TextField} label="To (UTC)" type="date" value=${chosen.to} onValue=${(end) => set({ to: end })} />
    </div>
    <p class="hint">Both days are included. Leave them empty for everything.</p>
    <${FormError} error=${error} />
    <div class="buttons"><${Button} look="primary" busy=${busy} onClick=${() => run()}>Download<//></div>
  <//>`
}

/** Downloads all pages of an export as one file. */
function useDownload(project, chosen) {
  const link = useRef(null)
  return useAction(async () => {
    const blob = new Blob(await pagesOf(exportHref(project.id, chosen)))
    link.current ??= document.createElement('a')
    link.current.href = URL.createObjectURL(blob)
    link.current.download = fileName(project, chosen)
    link.current.click()
    setTimeout(URL.revokeObjectURL, 60_000, link.current.href)
    notify(`Downloaded ${link.current.download}`)
  })
}

async function pagesOf(href) {
  const pages = []
  for (let next = href; next; ) {
    const response = await fetch(next, { credentials: 'same-origin', cache: 'no-store' })
    if (!response.ok) throw await errorOf(response)
    pages.push(await response.blob())
    next = nextOf(response.headers.get('link'))
  }
  return pages
}

const CHECKPOINTS = [
  { label: 'Signed', time: true, head: true, cell: (checkpoint) => html`<${Time} at=${checkpoint.time} />` },
  { label: 'Chain', cell: (checkpoint) => chainName(checkpoint.object) },
  { label: 'Entry', num: true, cell: (checkpoint) => count(checkpoint.seq) },
  { label: 'Reason', cell: (checkpoint) => checkpoint.reason },
  {
    label: 'Hash',
    cell: (checkpoint) => html`<code class="id short" title=${checkpoint.hash}>${checkpoint.hash}</code>`,
  },
  { label: 'Key ID', cell: (checkpoint) => html`<code>${checkpoint.keyId}</code>` },
]

function CheckpointsCard({ at }) {
  const list = useList(`${at}/checkpoints`, 'checkpoints')
  return html`<${Card} title="Checkpoints">
    <p class="muted">Signed once a day, with exports, and before old entries are deleted. Keep copies elsewhere: they prove that no entry was replaced later.</p>
    <${Loaded} of=${list} what="checkpoints" rows=${2}>${({ items, last }) => html`
      ${
        items.length === 0
          ? html`<${Empty} title="No checkpoints yet"><p>The first export or the first day signs one.</p><//>`
          : html`<${Table} caption="Checkpoints, newest first" columns=${CHECKPOINTS} rows=${items} rowKey=${(checkpoint) => `${checkpoint.object} ${checkpoint.seq} ${checkpoint.reason}`} />
            <${More} list=${list} noun="checkpoint" />`
      }
      ${last.publicKeys.length > 0 && html`<${Facts} rows=${last.publicKeys.map(({ keyId, publicKey }) => [`Public key ${keyId}`, html`<code>${publicKey}</code>`])} />`}`}<//>
  <//>`
}
