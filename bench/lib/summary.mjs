// Describes the figures of a run in sentences. Every figure in them comes from the run.

/** The rows of a section whose first column begins with the given text, as objects keyed by column. */
function rows({ head, rows }, beginning = '') {
  const named = rows.filter(([name]) => name.startsWith(beginning))
  if (named.length === 0) throw new Error(`the results have no row that begins with ${beginning}`)
  return named.map((row) => Object.fromEntries(head.map((name, i) => [name, row[i]])))
}

/** The shortest and longest time in strings such as '0.979 ms', as '0.9 to 1.2 ms'. */
function range(times) {
  const values = times.map((text) => {
    if (!/^[\d.]+ ms$/.test(text)) throw new Error(`${text} is no time in ms`)
    return Number.parseFloat(text)
  })
  const [least, most] = [Math.min(...values).toFixed(1), Math.max(...values).toFixed(1)]
  return least === most ? `${least} ms` : `${least} to ${most} ms`
}

/** The number in a string such as '1,669/s'. */
const second = (text) => text.replace('/s', '')

function speed({ sections: { geography } }) {
  const on = (plan) => rows(geography).filter((row) => row.plan === plan)
  return {
    leased: range(on('with leases').map((row) => row.p50)),
    exact: range(on('default').map((row) => row['beyond one call'])),
  }
}

function cost({ sections: { hops } }) {
  const dollars = (beginning) => rows(hops, beginning)[0].$
  return { leased: dollars('uncached, plan with leases'), exact: dollars('uncached, default plan') }
}

/** The two paragraphs of README.md. */
export function brief(results) {
  const [time, price] = [speed(results), cost(results)]
  return `\
**Speed.** On a plan [with leases](docs/operate/scaling.md#leases), Postern adds ${time.leased} to the time to first token for a busy key. On
other plans, it adds ${time.exact} and one call to a Durable Object. These are medians, measured in workerd on one machine.

**Cost.** At Cloudflare's list prices, a million uncached requests cost $${price.leased} for a busy key on a plan with leases, and
$${price.exact} on the default plan. CPU time is extra. [Performance](docs/project/performance.md) has all measurements and their method.
`
}

/** What a server does, if it was measured. */
function onServer({ selfhosted }) {
  if (selfhosted === undefined) return ''
  const [requests] = rows(selfhosted.sections.server, 'uncached, 64 connections, against the reverse proxy: requests')
  const [events] = rows(selfhosted.sections.server, 'streams in bursts, against a proxy that reads each event')
  return `
- **On a server.** With durable budgets, \`postern serve\` serves ${second(requests.Postern)} uncached requests per second, and Go's reverse proxy
  ${second(requests.baseline)}. An event of a stream takes ${events.ratio} times the CPU time that a proxy in Go needs to read and write it.`
}

/** The list at the start of docs/project/performance.md. */
export function summary(results) {
  const [time, price] = [speed(results), cost(results)]
  const { throughput, peers } = results.sections
  const bare = (column) =>
    rows(throughput, `uncached, plan with leases, Governor on, no Cache API, against a bare proxy: ${column}`)[0]
  const [requests, cpu] = [bare('requests'), bare('CPU')]
  const others = peers
    ? `
- **Other gateways.** In front of the same test provider, Postern serves ${second(rows(peers, 'Postern')[0].requests)} requests per second with the Governor
  off. Portkey's gateway serves ${second(rows(peers, 'Portkey')[0].requests)}. In this test, it does not check keys, limits or budgets.`
    : ''
  return `\
- **Time to first token.** For a busy key on a plan [with leases](../operate/scaling.md#leases), Postern adds a median of ${time.leased}. On other
  plans, Postern adds one Durable Object call and ${time.exact}.
- **Throughput.** One process of workerd without the Cache API serves ${second(requests.Postern)} uncached requests per second with Postern (${cpu.Postern}
  of CPU time each). It serves ${second(requests.baseline)} with a Worker that only forwards requests (${cpu.baseline} each).${onServer(results)}${others}
- **Cost.** At Cloudflare's list prices, a million uncached requests cost $${price.leased} with a busy key on a plan with leases, and
  $${price.exact} on the default plan. CPU time is not included.
- **Setup.** All figures come from one machine with ${results.machine.cores} cores and a local test provider. Neither a deployment on Cloudflare nor a real
  provider was measured.
`
}
