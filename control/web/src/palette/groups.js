// The palette's results, as groups of options.
import { useState } from 'preact/hooks'
import { get, path } from '../api.js'
import { masked, plural } from '../format.js'
import { withPaths } from '../groups.js'
import { hrefOf, modelHref } from '../ids.js'
import { causeWords, outcomeWords } from '../outcomes.js'
import { useCatalog, useDebounced, useResource } from '../resource.js'
import { to } from '../router.js'
import { commandGroups } from './commands.js'
import { matchesWords } from './query.js'
import { findRequest, firstOf, locate, orNull } from './sources.js'

const FIRST = 6
const MORE = 20
const TYPING_MS = 150

/**
 * @typedef {{id: string, label: string, detail?: string, mark?: string, href?: string, run?: () => any, keepOpen?: boolean}} Item
 *   href or run: what choosing it does; keepOpen: the palette stays open
 * @typedef {{label: string, items: Item[], note?: string, loading?: boolean, error?: Error}} Group
 *   note: anything else to say, such as where the search looked
 */

/** The groups of results for a text that is not a key. @returns {Group[]} */
export function useGroups(query, place) {
  const named = useDebounced(query.kind === 'text' ? query.text : '', TYPING_MS)
  const commands = commandGroups(query.text, place)
  const projects = useProjects(query.kind === 'project' ? query : { kind: 'text', text: named })
  const groups = useGroupsOf(query.kind === 'text' || query.kind === 'group' ? query.text : '')
  const keys = useKeys(named)
  const models = useModels(query.kind === 'text' ? query.text : '')
  const violation = useViolation(query.kind === 'violation' ? query.text : '', place.project)
  const request = useRequest(query.kind === 'request' ? query.text : '')
  if (query.kind === 'secret') return []
  if (query.kind === 'nothing') return commands
  if (query.kind === 'project') return [projects]
  if (query.kind === 'group') return [groups]
  if (query.kind === 'violation') return [violation]
  if (query.kind === 'request') return [request]
  return [...commands, projects, groups, keys, models]
}

/** A search that loads more results on demand. @param {(wanted: number, signal: AbortSignal) => Promise<any>} search */
function useSearch(text, search) {
  const [more, setMore] = useState({ text, wanted: FIRST })
  const wanted = more.text === text ? more.wanted : FIRST
  const found = useResource(async (signal) => (text ? await search(wanted, signal) : null), [text, wanted])
  return { ...found, showMore: () => setMore({ text, wanted: wanted + MORE }) }
}

/** A group with the results of a search. If there are more results, the last option shows more. */
function groupOf(label, found, item) {
  const data = found.stale && found.error ? null : found.data
  const items = (data?.items ?? []).map(item)
  if (data?.more) {
    const id = `more-${label}`
    items.push({ id, label: `Show more ${label.toLowerCase()}`, run: found.showMore, keepOpen: true })
  }
  return { label, items, loading: found.loading, error: found.error }
}

function useProjects({ kind, text }) {
  const found = useSearch(text, async (wanted, signal) => {
    if (kind === 'text') return await firstOf('projects', 'projects', { query: { q: text }, wanted, signal })
    const project = await orNull(get(path`projects/${text}`, { signal }))
    return { items: project ? [project] : [], more: false }
  })
  const group = groupOf('Projects', found, (project) => ({
    id: project.id,
    label: project.name,
    detail: project.id,
    mark: project.status === 'archived' ? 'archived' : '',
    href: to('projects', project.id),
  }))
  return kind === 'project' && found.data?.items.length === 0
    ? { ...group, note: 'No project of this deployment has this ID.' }
    : group
}

/** Groups by name or ID. The API returns all groups at once, so they are loaded once and searched here. */
function useGroupsOf(text) {
  const wanted = text !== ''
  const all = useResource(async (signal) => (wanted ? (await get('groups', { signal })).groups : []), [wanted])
  const matching = text
    ? withPaths(all.data ?? []).filter(({ id, path }) => id === text || matchesWords(path, text))
    : []
  const { items, showMore } = useFirst(text, matching)
  return groupOf('Groups', { ...all, data: items, showMore }, (group) => ({
    id: group.id,
    label: group.path,
    detail: group.id,
    mark: group.archived ? 'archived' : '',
    href: to('groups', group.id),
  }))
}

/** The first of the items that match a text, and more on demand. */
function useFirst(text, matching) {
  const [more, setMore] = useState({ text, wanted: FIRST })
  const wanted = more.text === text ? more.wanted : FIRST
  return {
    items: { items: matching.slice(0, wanted), more: matching.length > wanted },
    showMore: () => setMore({ text, wanted: wanted + MORE }),
  }
}

function useKeys(text) {
  const found = useSearch(text, (wanted, signal) => firstOf('keys', 'keys', { query: { q: text }, wanted, signal }))
  return groupOf('Keys', found, (key) => ({
    id: key.id,
    label: key.name,
    detail: `${masked(key)} in ${key.project.name}`,
    mark: key.project.status === 'archived' ? 'archived' : key.status === 'active' ? '' : key.status,
    href: to('projects', key.project.id, 'keys', key.id),
  }))
}

function useModels(text) {
  const catalog = useCatalog()
  const matching = text
    ? (catalog.data?.models ?? []).filter(({ name, aliases }) => matchesWords([name, ...aliases].join(' '), text))
    : []
  const { items, showMore } = useFirst(text, matching)
  return groupOf('Models', { ...catalog, data: items, showMore }, (model) => ({
    id: `model-${model.name}`,
    label: model.name,
    detail: model.provider,
    href: modelHref(model.name),
  }))
}

/** A request with the given ID in any project. */
function useRequest(id) {
  const [progress, setProgress] = useState(0)
  const found = useResource(
    async (signal) => (id ? await findRequest(id, { signal, progress: setProgress }) : null),
    [id],
  )
  const group = { label: 'Request', items: [], loading: found.loading, error: found.error }
  if (!id || found.error) return group
  if (found.stale || !found.data) return { ...group, note: lookedIn(progress) }
  const { hit } = found.data
  return hit ? { ...group, items: [requestItem(id, hit)] } : { ...group, note: NO_REQUEST }
}

const NO_REQUEST =
  'No project of this deployment has recorded this request. It may be too recent or too old, its key may be unknown, or too many were served or refused with it at the time.'

const lookedIn = (projects) => `Looked in ${plural(projects, 'project')} so far …`

function requestItem(id, { project, found: { outcome, cause, status } }) {
  const why = causeWords(cause) || `status ${status ?? 'unknown'}`
  return {
    id,
    label: `${outcomeWords(outcome)}: ${why}`,
    detail: `${id} in ${project.name}`,
    href: hrefOf(id, project.id),
  }
}

/** A violation with the given ID in the project that is in view or, on demand, in all projects. */
function useViolation(id, project) {
  const search = id && `${id} ${project}`
  const [everywhere, setEverywhere] = useState('')
  const [progress, setProgress] = useState(0)
  const all = everywhere === search
  const found = useResource(
    async (signal) => (id ? await locate({ id, project, everywhere: all, signal, progress: setProgress }) : null),
    [search, all],
  )
  const group = { label: 'Violation', items: [], loading: found.loading, error: found.error }
  if (!id || found.stale) {
    if (id && all) group.note = lookedIn(progress)
    return group
  }
  if (!found.data) return group
  const { hit, looked, name } = found.data
  if (hit) return { ...group, items: [violationItem(id, hit)] }
  group.note = notFound({ looked, name })
  const lookOn = () => {
    setProgress(0)
    setEverywhere(search)
  }
  if (!all) group.items = [lookEverywhere(lookOn)]
  return group
}

const lookEverywhere = (run) => ({ id: 'everywhere', label: 'Look in all projects', run, keepOpen: true })

function violationItem(id, { project, found }) {
  return {
    id,
    label: `${found.rule}, ${found.state}`,
    detail: `${id} in ${project.name}`,
    href: hrefOf(id, project.id),
  }
}

/** A note that says which projects do not have the violation. */
function notFound({ looked, name }) {
  if (name) return `Not among the violations of the project ${name}.`
  if (looked === 0) return 'Not looked for yet: no project is in view.'
  return `Not among the violations of any of the ${looked} projects of this deployment.`
}
