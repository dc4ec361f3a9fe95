// The tables of docs/project/performance.md, made of a run's results. Every figure in them comes from the results.

/** A Markdown table of some columns of a section. */
function table({ head, rows }, columns, wanted = () => true) {
  const cells = rows
    .filter(wanted)
    .map((row) => columns.map(([, name]) => (row[head.indexOf(name)] || '–').replaceAll('|', '\\|')))
  const line = (texts) => `| ${texts.join(' | ')} |`
  return [line(columns.map(([title]) => title)), `|${'---|'.repeat(columns.length)}`, ...cells.map(line)].join('\n')
}

const same = (...names) => names.map((name) => [name, name])

function operations(hops) {
  return table(hops, [
    ['Request', 'request'],
    ['Calls of Durable Objects', 'object calls'],
    ['Rows written', 'rows written'],
    ['KV reads', 'KV reads'],
    ['KV writes', 'KV writes'],
    ['$ per million', '$'],
  ])
}

function geography(far) {
  return table(far, [
    ['Delay of a Durable Object', 'object call'],
    ['Delay of KV', 'KV read'],
    ['Plan', 'plan'],
    ['Added, median', 'p50'],
    ['Added, p95', 'p95'],
    ['Beyond that delay', 'beyond one call'],
  ])
}

const comparison = [
  ['Measured', 'what'],
  ['Postern', 'Postern'],
  ['Baseline', 'baseline'],
  ['Ratio (median of pairs)', 'ratio'],
]

const peers = (section) => `
## Other gateways

These gateways get the same requests in the same run and forward them to the same upstream. ${section.notes.join(' ')}

${table(section, same(...section.head))}
`

/** The tables, each in a section of its own. */
export function tables({ quick, machine, sections }) {
  return `\
${quick ? '**These figures are of a short trial on a busy machine. Do not rely on them.**\n\n' : ''}## Cost on Cloudflare

The operations of a request were counted in workerd on ${sections.hops.date}. They include everything that a request causes in any
Durable Object until its usage is reported, alarms too. The prices are Cloudflare's list prices
([Workers](https://developers.cloudflare.com/workers/platform/pricing/),
[KV](https://developers.cloudflare.com/kv/platform/pricing/),
[Durable Objects](https://developers.cloudflare.com/durable-objects/platform/pricing/)). They include the Worker request, but not
CPU time, and nothing is deducted for the usage that a plan of Cloudflare includes.

${operations(sections.hops)}

## Time to first token

The table shows the time that Postern adds to a bare proxy Worker. Calls of Durable Objects and reads of KV have the delays in the first two
columns. A busy key on a plan with leases waits for neither. Any other key waits for one call of its Durable Object. The last column is
the time that Postern adds to a proxy Worker that also calls a Durable Object once, which writes a row.

${geography(sections.geography)}

## Throughput and CPU time

Authentication, limits, budget, cache and the log line are on. The baselines are minimal Workers in the same run, on a machine with
${machine.cores} cores, with a local upstream and workerd ${machine.workerd}. Times and rates are medians over the rounds. A ratio is the median of the
ratios of all pairs of rounds, so it can differ from the quotient of the two medians beside it.

workerd's Cache API sends two HTTP requests to another process for each uncached request. A deployed Worker does not pay for these. The
rows "no Cache API" are without them, as on workers.dev. \`make bench\` also prints the targets.

${table(sections.throughput, comparison)}
${sections.peers ? peers(sections.peers) : ''}`
}
