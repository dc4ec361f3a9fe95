// Downloads of compliance data, and the pages of an export.
import { queryOf } from './api.js'

export const EXPORTS = [
  ['inventory', 'Model inventory'],
  ['policies', 'Policies'],
  ['violations', 'Violations'],
  ['access', 'Access'],
  ['usage', 'Usage'],
  ['audit', 'Audit log'],
]

/** The URL of the first page of an export. from and to are dates, both inclusive, or empty. */
export function exportHref(projectId, { type, from, to, format }) {
  const query = queryOf({ type, from, to: dayAfter(to), format })
  return `/api/admin/projects/${encodeURIComponent(projectId)}/compliance/export${query}`
}

function dayAfter(date) {
  const ms = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(ms) ? '' : new Date(ms + 86_400_000).toISOString().slice(0, 10)
}

/** The URL of the next page according to a Link header, or null if there is none. */
export function nextOf(link) {
  const [, url] = /<([^>]+)>;\s*rel="?next"?/.exec(link ?? '') ?? []
  return url ?? null
}

export function fileName(project, { type, from, to, format }) {
  const period = [from, to].filter(Boolean).join('_to_')
  return [project.id, type, period].filter(Boolean).join('-') + (format === 'cyclonedx' ? '.cdx.json' : '.ndjson')
}
