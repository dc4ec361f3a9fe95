// The palette's server-side searches.
import { ApiError, get, path } from '../api.js'

const PAGE = 100
const AT_ONCE = 4

/**
 * The first items of a list that match a query, up to "wanted". If a page is short but not the last one, the next
 * page is read.
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

/** The response to a request, or null if it is a 404. */
export async function orNull(promise) {
  try {
    return await promise
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

/**
 * Looks for a request in all projects. Each response of the server covers several projects.
 * @param {{signal?: AbortSignal, progress: (looked: number) => void}} options
 * @returns {Promise<{hit: {project: {id: string, name: string}, found: object} | null}>}
 */
export async function findRequest(id, { signal, progress }) {
  progress(0)
  for (let after = ''; ; ) {
    const page = await orNull(get(path`requests/${id}`, { query: { after }, signal }))
    if (!page) return { hit: null }
    if (page.request) return { hit: { project: page.project, found: page.request } }
    progress(page.searched)
    after = page.next
  }
}

/** The violation with the given ID in a project, or null if the project does not have it. */
async function inProject(id, project, signal) {
  return await orNull(get(path`projects/${project}/violations/${id}`, { signal }))
}

/**
 * Looks for a violation in the project that is in view, or in all projects if "everywhere" is set.
 * @param {{id: string, project: string, everywhere: boolean, signal: AbortSignal, progress: (looked: number) => void}} search
 *   project: '' for none; progress: gets the number of projects searched so far
 * @returns {Promise<{hit: {project: {id: string, name: string}, found: object} | null, looked: number, name: string}>}
 *   name: of the project in view, if only that one was searched
 */
export async function locate(search) {
  const { id, project, everywhere, signal } = search
  if (everywhere) return await locateEverywhere(search)
  const here = project && (await orNull(get(path`projects/${project}`, { signal })))
  if (!here) return { hit: null, looked: 0, name: '' }
  const found = await inProject(id, here.id, signal)
  return { hit: found && { project: here, found }, looked: 1, name: here.name }
}

async function locateEverywhere({ id, signal, progress }) {
  let hit = null
  let looked = 0
  let after = ''
  do {
    const { projects, next } = await get('projects', { query: { limit: PAGE, after }, signal })
    const look = async () => {
      for (let project = projects.shift(); project && !hit; project = projects.shift()) {
        const found = await inProject(id, project.id, signal)
        progress(++looked)
        if (found) hit = { project, found }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, look))
    after = next
  } while (after && !hit)
  return { hit, looked, name: '' }
}
