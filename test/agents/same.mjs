// Compares the requests that an agent sends directly to a provider with the requests that arrive there through the
// gateway.
import { catalog } from './account.mjs'

// Parts that differ between any two sessions of an agent.
const VOLATILE = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID'],
  [/\b[0-9a-f]{16,}\b/g, 'HEX'],
  [/\b(ses|msg|prt|call)_[0-9A-Za-z]{20,}/g, '$1_ID'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, 'TIME'],
  [/\b1[78]\d{11}\b/g, 'MILLISECONDS'],
  [/"(turn_started_at_unix_ms)":\d+/g, '"$1":0'],
  [/(Wall time: |Chunk ID: |Original token count: |Duration: )[0-9a-f.]+/g, '$1N'],
  [/<total_tokens>\d+ tokens left/g, '<total_tokens>N tokens left'],
  [/("model": "claude-[a-z]+-\d-\d)-\d{8}/g, '$1'], // an alias in the catalog
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT'],
]

/** A body as text with one field per line, without the parts that differ between two sessions. */
export function normalized(body) {
  const value = JSON.parse(body)
  // Codex keeps these fields in a hash map, whose order is random.
  if (value.client_metadata !== undefined) value.client_metadata = sorted(value.client_metadata)
  // The gateway adds these fields so that a request cannot cost more than was reserved. No agent sends them.
  delete value.max_tool_calls
  if (value.service_tier === 'default') delete value.service_tier
  const text = JSON.stringify(sorted(value), undefined, 1)
  return stable(text)
}

function stable(text) {
  for (const [pattern, name] of VOLATILE) text = text.replace(pattern, name)
  return text
}

// Headers that the gateway and the HTTP client of its host set themselves, whatever the agent sends.
const OWN = [
  ...['Accept', 'Accept-Encoding', 'Connection', 'Content-Length', 'Content-Type', 'User-Agent'],
  ...['Authorization', 'X-Api-Key', 'X-Goog-Api-Key'],
  'Cf-Worker', // Workers add this header, with the zone's name, to each request
]

/** A request's headers, except the gateway's own and the parts that differ between two sessions. */
export function passed({ header }) {
  const names = Object.keys(header).filter((name) => !OWN.includes(name))
  return Object.fromEntries(names.sort().map((name) => [name.toLowerCase(), stable(header[name].join())]))
}

/** The agent's headers that a model's provider should receive according to the catalog. */
export function allowed(headers, { provider }) {
  const of = catalog.providers.find(({ name }) => name === provider).headers
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => of.includes(name))
      .map(([name, value]) => [name, name === 'anthropic-beta' ? listedBetas(value) : value]),
  )
}

/** The betas in a header that the catalog lists. The catalog lists them without their date. */
function listedBetas(value) {
  const listed = catalog.members['anthropic-beta']
  return value
    .split(',')
    .filter((beta) => listed.includes(beta.replace(/-\d{4}-?\d\d-?\d\d$/, '')))
    .join()
}

function sorted(object) {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The first difference between two lists of bodies, as a message, or undefined if they are the same. */
export function difference(direct, through) {
  for (let i = 0; i < Math.max(direct.length, through.length); i++) {
    if (direct[i] === through[i]) continue
    if (direct[i] === undefined || through[i] === undefined)
      return `${direct.length} requests directly, ${through.length} through the gateway`
    const [a, b] = [direct[i].split('\n'), through[i].split('\n')]
    const at = a.findIndex((line, n) => line !== b[n])
    const around = (lines) =>
      lines
        .slice(Math.max(at - 2, 0), at + 4)
        .map((line) => line.slice(0, 300))
        .join('\n')
    return `request ${i + 1} of ${direct.length}, line ${at + 1}\ndirectly:\n${around(a)}\nthrough the gateway:\n${around(b)}`
  }
}
