// Links of Home.
import { queryOf } from '../api.js'
import { to } from '../router.js'

/** The overview of a project, with the range of Home: 24 hours if its URL has none. */
export function projectHref(projectId) {
  const range = new URLSearchParams(location.search).get('range') || '24h'
  return to('projects', projectId) + queryOf({ range })
}
