// Links on Home.
import { queryOf } from '../api.js'
import { CUSTOM, presentHours } from '../ranges.js'
import { to } from '../router.js'

/** A link to a project's overview with the range of Home. If Home's URL has no range, the range is 24 hours. */
export function projectHref(projectId) {
  const query = new URLSearchParams(location.search)
  const range = query.get('range') || '24h'
  if (range === '2h') return to('projects', projectId) + queryOf({ range: CUSTOM, ...presentHours(2) })
  const bounds = range === CUSTOM ? { from: query.get('from'), to: query.get('to') } : {}
  return to('projects', projectId) + queryOf({ range, ...bounds })
}
