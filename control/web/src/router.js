// Maps paths below /dashboard to pages. Links are plain <a href> elements. One listener handles the clicks on all
// links.
import { useEffect, useState } from 'preact/hooks'
import { isEdited, leaving } from './unsaved.js'

export const BASE = '/dashboard'

const ROUTES = [
  ['signin', ['signin']],
  ['overview', []],
  ['projects', ['projects']],
  ['project-new', ['projects', 'new']],
  ['home', ['projects', ':project']],
  ['costs', ['projects', ':project', 'costs']],
  ['keys', ['projects', ':project', 'keys']],
  ['key-new', ['projects', ':project', 'keys', 'new']],
  ['key', ['projects', ':project', 'keys', ':key']],
  ['routes', ['projects', ':project', 'routes']],
  ['provider-keys', ['projects', ':project', 'provider-keys']],
  ['requests', ['projects', ':project', 'requests']],
  ['request', ['projects', ':project', 'requests', ':request']],
  ['governor', ['projects', ':project', 'governor']],
  ['violations', ['projects', ':project', 'violations']],
  ['violation', ['projects', ':project', 'violations', ':violation']],
  ['registry', ['projects', ':project', 'registry']],
  ['registry-new', ['projects', ':project', 'registry', 'new']],
  ['registry-entry', ['projects', ':project', 'registry', ':entry']],
  ['compliance', ['projects', ':project', 'compliance']],
  ['playground', ['projects', ':project', 'playground']],
  ['settings', ['projects', ':project', 'settings']],
  ['groups', ['groups']],
  ['group-new', ['groups', 'new']],
  ['group', ['groups', ':group']],
  ['all-violations', ['violations']],
  ['models', ['models']],
  ['providers', ['providers']],
  ['audit', ['audit']],
]

/**
 * The page for a path, or "missing" if there is none.
 * @returns {{page: string, params: Record<string, string>}}
 */
export function match(pathname) {
  const segments = segmentsOf(pathname)
  for (const [page, pattern] of ROUTES) {
    const params = segments && paramsOf(pattern, segments)
    if (params) return { page, params }
  }
  return { page: 'missing', params: {} }
}

function segmentsOf(pathname) {
  if (pathname !== BASE && !pathname.startsWith(`${BASE}/`)) return null
  try {
    return pathname.slice(BASE.length).split('/').filter(Boolean).map(decodeURIComponent)
  } catch {
    return null // malformed percent-encoding
  }
}

function paramsOf(pattern, segments) {
  if (pattern.length !== segments.length) return null
  const params = {}
  for (const [i, part] of pattern.entries()) {
    if (part.startsWith(':')) params[part.slice(1)] = segments[i]
    else if (part !== segments[i]) return null
  }
  return params
}

/** The path of a page: to('projects', id, 'keys'). */
export function to(...segments) {
  return [BASE, ...segments.map(encodeURIComponent)].join('/')
}

/**
 * The path to go to after sign-in. Anything other than a path of the dashboard is replaced with the dashboard's root.
 */
export function safeNext(text) {
  return text && /^\/dashboard(\/[\w%.~/-]*)?(\?[^#]*)?$/.test(text) && !text.includes('//') ? text : BASE
}

const listeners = new Set()
const changed = () => {
  for (const listener of listeners) listener()
}

/** The number of navigations since the document was loaded. On the first page, the focus is not moved. */
export const visits = { count: 0 }

/**
 * The location that is shown, and the place of its entry in the tab's history. It can differ from the browser's
 * location: after "back", the browser has already moved while the page still asks about unsaved changes.
 */
const here = { path: '', search: '', place: 0 }

function arrive(place) {
  Object.assign(here, { path: location.pathname, search: location.search, place })
  changed()
}

/** @param {string} href @param {{replace?: boolean}} [options] replace: replaces the history entry instead of adding one */
export function navigate(href, { replace = false } = {}) {
  const samePage = new URL(href, location.href).pathname === location.pathname
  const place = here.place + (replace ? 0 : 1)
  history[replace ? 'replaceState' : 'pushState']({ place }, '', href)
  if (!samePage) {
    visits.count++
    scrollTo(0, 0)
  }
  arrive(place)
}

/** Handles clicks on dashboard links, and the browser's back and forward. */
export function startRouter() {
  const place = history.state?.place ?? 0
  history.replaceState({ place }, '')
  arrive(place)
  addEventListener('popstate', stepped)
  document.addEventListener('click', (event) => {
    const link = followed(event)
    if (!link) return
    event.preventDefault()
    if (link.pathname === here.path) navigate(link.href)
    else leaving(() => navigate(link.href))
  })
}

/** The dashboard link that a click follows in this tab. Undefined for other clicks. @param {MouseEvent} event */
export function followed(event) {
  const link = event.target.closest?.('a[href]')
  if (!link || !isDashboardLink(link) || event.defaultPrevented || event.button !== 0) return undefined
  return event.metaKey || event.ctrlKey || event.shiftKey || event.altKey ? undefined : link
}

/**
 * The kind of the next history step: a step by the user, the reversal of a step that needs confirmation, or a
 * confirmed step.
 */
let next = 'asked'

function stepped({ state }) {
  const kind = next
  next = 'asked'
  if (kind === 'reversed') return
  const place = state?.place ?? here.place + 1 // a link to a fragment creates an entry without a place
  if (!state) history.replaceState({ place }, '')
  const step = place - here.place
  if (kind === 'asked' && isEdited() && location.pathname !== here.path && step !== 0) return reverse(step)
  visits.count++
  arrive(place)
}

/** Reverses a history step, and repeats it if the user confirms that the page's changes may be lost. */
function reverse(step) {
  const go = (kind, steps) => {
    next = kind
    history.go(steps)
  }
  go('reversed', -step)
  leaving(() => go('allowed', step))
}

function isDashboardLink(link) {
  if (link.target || link.hasAttribute('download') || link.origin !== location.origin || link.hash) return false
  return link.pathname === BASE || link.pathname.startsWith(`${BASE}/`)
}

/** The current page. Rerenders the component when the location changes. */
export function useLocation() {
  const [, redraw] = useState(0)
  useEffect(() => {
    const listener = () => redraw((n) => n + 1)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return { ...match(here.path), path: here.path, query: new URLSearchParams(here.search) }
}

/**
 * The values of the named query parameters, and a function that changes some of them in the page's URL. With "step",
 * the browser's back button returns to the previous values.
 */
export function useQuery(names) {
  const { query } = useLocation()
  const values = Object.fromEntries(names.map((name) => [name, query.get(name) ?? '']))
  const change = (changes, { step = false } = {}) => {
    const next = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') next.delete(name)
      else next.set(name, value)
    }
    const text = next.toString()
    navigate(location.pathname + (text && `?${text}`), { replace: !step })
  }
  return [values, change]
}
