// The tables of docs/project/performance.md, built from a run's results. Every figure in them comes from the results.

import { edgeLatency, missed, server } from './markdownserver.mjs'
import { comparison, table, targetColumns } from './markdowntable.mjs'
import { described } from './results.mjs'

const capital = (name) => name[0].toUpperCase() + name.slice(1)

function operations(hops) {
  return table(hops, [
    ['Request', 'request'],
    ['Durable Object calls', 'object calls'],
    ['Rows written', 'rows written'],
    ['KV reads', 'KV reads'],
    ['KV writes', 'KV writes'],
    ['$ per million', '$'],
    ...targetColumns('target'),
  ])
}

// While workerd evicted idle objects, the later work for a key's first request was not counted.
const LATER = `This table was counted later than the one above. It includes the reports that an object sends after ten idle seconds,
which the one above lacks.
`

const levels = (section, hops) => `
## Cost of budgets of groups

A request reserves its cost at every budget of its path. The table shows what each further Ledger costs, counted in workerd on
${section.date}: the first one is the project's, and the others are those of the deployment, a department and a team.
${section.date === hops.date ? '' : LATER}
${table(
  section,
  [
    ['Request', 'request'],
    ['Ledgers', 'Ledgers'],
    ['Durable Object calls', 'object calls'],
    ['Rows written', 'rows written'],
    ['$ per million', '$'],
    ['Added calls', 'added calls'],
    ['Added rows', 'added rows'],
    ['Added $', 'added $'],
    ...targetColumns('target (added)'),
  ],
  ([, ledgers]) => ledgers !== '',
)}
`

function geography(far) {
  return table(far, [
    ['Durable Object delay', 'object call'],
    ['KV delay', 'KV read'],
    ['Plan', 'plan'],
    ['Added, median', 'p50'],
    ['Added, p95', 'p95'],
    ['Added beyond one call', 'beyond one call'],
    ...targetColumns('target (p50)'),
  ])
}

const peers = (section) => `
## Other gateways

These gateways get the same requests in the same run and forward them to the same test provider. ${section.notes.join(' ')}

${table(
  section,
  section.head.filter((name) => name !== '' && name !== 'target').map((name) => [capital(name), name]),
)}
`

/** The tables, each in its own section. */
export function tables({ date, quick, machine, sections, selfhosted }) {
  const all = { ...sections, ...selfhosted?.sections }
  return `\
${quick ? '**These figures are of a short trial on a busy machine. Do not rely on them.**\n\n' : ''}## Cost on Cloudflare

The table shows the operations of one request, counted in workerd on ${sections.hops.date}. The counts include everything
that happens in Durable Objects until the request's usage is reported, including alarms. The prices are Cloudflare's list prices
([Workers](https://developers.cloudflare.com/workers/platform/pricing/),
[KV](https://developers.cloudflare.com/kv/platform/pricing/),
[Durable Objects](https://developers.cloudflare.com/durable-objects/platform/pricing/)). They include the Worker
request but not CPU time. The usage that a Cloudflare plan includes is not deducted.

${operations(sections.hops)}
${sections.levels ? levels(sections.levels, sections.hops) : ''}
## Time to first token

The table shows how much longer Postern takes than a proxy Worker that only forwards requests. The first two columns are the
delays of each Durable Object call and each KV read. A busy key on a plan with leases waits for neither. Any other key waits for one call to
its Durable Object. The last column compares Postern with a proxy Worker that also calls a Durable Object, which writes a row.

${geography(sections.geography)}

## Throughput and CPU time

In all rows, Postern authenticates requests, applies limits and budgets, uses its cache and writes its log line. The baselines are
minimal Workers, measured in the same run with a local test provider. Times and rates are medians of all rounds. A ratio is the median of the ratios of all pairs of rounds, so it can
differ from the quotient of the two medians.

The figures of ${date} are from this machine: ${described(machine)}.

In workerd, the Cache API sends two HTTP requests to another process for each uncached request. A deployed Worker does not have this
overhead. The rows with "no Cache API" show Postern without it, as on \`workers.dev\`. Targets that are not met are explained
[below](#targets-that-are-not-met).

${table(sections.throughput, comparison)}

### Streams, the core and start

${['streams', 'core'].map((name) => table(sections[name], comparison)).join('\n\n')}
${sections.latency ? edgeLatency(sections.latency) : ''}${sections.peers ? peers(sections.peers) : ''}${selfhosted ? server(selfhosted) : ''}${missed(all)}`
}
