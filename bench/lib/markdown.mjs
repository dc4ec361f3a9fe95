// The performance section of README.md, made of a run's results. Every figure in it comes from them.

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
    ['Object calls', 'object calls'],
    ['Rows written', 'rows written'],
    ['KV reads', 'KV reads'],
    ['KV writes', 'KV writes'],
    ['$ per million', '$'],
  ])
}

function geography(far) {
  return table(far, [
    ['An object call takes', 'object call'],
    ['A KV read takes', 'KV read'],
    ['Plan', 'plan'],
    ['Added, median', 'p50'],
    ['Added, p95', 'p95'],
    ['Beyond one object call', 'beyond one call'],
  ])
}

const comparison = [
  ['Measured', 'what'],
  ['Postern', 'Postern'],
  ['Baseline', 'baseline'],
  ['Ratio', 'ratio'],
]

const peers = (section) => `
Other gateways in front of the same upstream, in the same run, with the same request body. ${section.notes.join(' ')}

${table(section, same(...section.head))}
`

/** The section between the comments in README.md. */
export function section({ quick, machine, sections }) {
  return `\
${quick ? '**These figures are of a short trial on a busy machine. Do not rely on them.**\n\n' : ''}Operations per request, counted in workerd on ${sections.hops.date}, at Cloudflare's list prices
([Workers](https://developers.cloudflare.com/workers/platform/pricing/),
[KV](https://developers.cloudflare.com/kv/platform/pricing/),
[Durable Objects](https://developers.cloudflare.com/durable-objects/platform/pricing/)). Everything counts that a request
causes in any object until its usage is reported, alarms included. The prices include the Worker request, but not CPU time,
and do not deduct the usage included in a plan.

${operations(sections.hops)}

Time to first token that Postern adds to a bare proxy Worker, with objects and KV as far away as the table says. A hot key on a
plan that lends waits for neither; any other key waits for one object call. The last column is against a proxy Worker behind
one call of an object that writes a row, as far away:

${geography(sections.geography)}

Requests in plain workerd with authentication, limits, budget, cache and log line on, against minimal Workers in the same run (a
machine with ${machine.cores} cores, a local upstream, workerd ${machine.workerd}, medians). workerd's Cache API sends two HTTP requests to another process for each
uncached request, which a deployment does not pay in the Worker; the rows "no Cache API" are without them, as on workers.dev.
\`make bench\` also prints the targets:

${table(sections.throughput, comparison)}
${sections.peers ? peers(sections.peers) : ''}`
}
