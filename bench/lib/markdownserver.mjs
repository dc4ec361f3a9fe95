// The parts of docs/project/performance.md about latency under open load, about `postern serve`, and about targets that are
// not met.
import { explanations } from './explanations.mjs'
import { comparison, table, whole } from './markdowntable.mjs'
import { described } from './results.mjs'

const OPEN = `Requests are due at fixed times, even if the server has not answered earlier ones. A latency counts from the time at which the
request was due. The rates are shares of the throughput that Postern reaches when each connection sends its next request after a
response. Percentiles are those of all rounds together.`

/** The part about latency in workerd. */
export const edgeLatency = (section) => `
## Latency at fixed rates

${OPEN}

${whole(section)}
`

/** The part about \`postern serve\`. */
export const server = ({ date, quick, machine, sections }) => `
## On a server

${quick ? '**These figures are of a short trial on a busy machine. Do not rely on them.**\n\n' : ''}\`make bench-selfhosted\` compares \`postern serve\` with Go's \`httputil.ReverseProxy\` and with Portkey's gateway on Node, in the same
run and in front of the same test provider. Postern has all checks enabled, and writes budgets, limits and usage to the disk
before it relies on them. Streams are also compared with a proxy in Go that reads each event. It splits the stream into events
and decodes their JSON with \`encoding/json\`. It writes the events again, with one flush for all that arrive together.
${sections.server.notes.join(' ')}

The figures of ${date} are from this machine: ${described(machine)}.

${table(sections.server, comparison)}

### Latency of a server at fixed rates

${OPEN}

${whole(sections.serverLatency)}
`

function explained({ names, why, limit }) {
  const rows = names.map((name) => `  - ${name}`).join('\n')
  return `- ${why ? `${why} ${limit}` : 'Not explained yet:'}\n\n${rows}\n`
}

/** The part about the targets that the given sections miss. */
export function missed(sections) {
  const groups = explanations(sections)
  if (groups.length === 0) return '\n## Targets that are not met\n\nAll rows meet their targets.\n'
  return `
## Targets that are not met

${groups.map(explained).join('\n')}`
}
