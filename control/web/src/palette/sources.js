// The palette's searches on the server.
import { ApiError, get, path } from '../api.js'

const PAGE = 100
const AT_ONCE = 4

/**
 * The first entries of a list that match a text, at most wanted. It reads on while pages are short but not the last.
 * @param {string} to below /api/admin/
 * @param {string} field the response's field with the list
 * @param {{query: object, wanted: number, signal: AbortSignal}} options
 * @returns {Promise<{items: object[], more: boolean}>}
 */
export async function firstOf(to, field, { query, wanted, signal }) {
  const items = []
  let after = ''
  do {
    const limit = Math.min(PAGE, wanted - items.length)
    const page = await get(to, { query: { ...query, limit, after }, signal })
    items.push(...page[field])
    after = page.next
  } while (after && items.length < wanted)
  return { items: items.slice(0, wanted), more: Boolean(after) || items.length > wanted }
}

/** What a request returns, or null for a 404. */
export async function orNull(promise) {
  try {
    return await promise
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

/** The violation or the recent request of a project with an ID; null if the project has none. */
async function inProject(kind, id, project, signal) {
  if (kind === 'violation') return await orNull(get(path`projects/${project}/violations/${id}`, { signal }))
  const options = { query: { request: id }, wanted: 1, signal }
  const found = await orNull(firstOf(path`projects/${project}/requests`, 'requests', options))
  return found?.items[0] ?? null
}

/**
 * Looks for a violation or a request in the project in view, or else in all projects.
 * @param {{kind: 'violation' | 'request', id: string, project: string, everywhere: boolean, signal: AbortSignal,
 *   progress: (looked: number) => void}} search  project: '' for none; progress: gets the number of projects looked in
 * @returns {Promise<{hit: {project: {id: string, name: string}, found: object} | null, looked: number, name: string}>}
 *   name: of the project in view, if only that was looked in
 */
export async function locate(search) {
  const { kind, id, project, everywhere, signal } = search
  if (everywhere) return await locateEverywhere(search)
  const here = project && (await orNull(get(path`projects/${project}`, { signal })))
  if (!here) return { hit: null, looked: 0, name: '' }
  const found = await inProject(kind, id, here.id, signal)
  return { hit: found && { project: here, found }, looked: 1, name: here.name }
}

async function locateEverywhere({ kind, id, signal, progress }) {
  let hit = null
  let looked = 0
  let after = ''
  do {
    const { projects, next } = await get('projects', { query: { limit: PAGE, after }, signal })
    const look = async () => {
      for (let project = projects.shift(); project && !hit; project = projects.shift()) {
        const found = await inProject(kind, id, project.id, signal)
        progress(++looked)
        if (found) hit = { project, found }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, look))
    after = next
  } while (after && !hit)
  return { hit, looked, name: '' }
}
