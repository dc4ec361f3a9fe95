// IDs and the pages that they lead to.
import { to } from './router.js'
import { sha256 } from './sha256.js'

const ENTRY_DIGITS = 24

/** The page to which each kind of ID leads. Without the ID of the project, only projects and groups have a
 * page. */
const PAGES = {
  proj: (id) => to('projects', id),
  grp: (id) => to('groups', id),
  key: (id, project) => project && to('projects', project, 'keys', id),
  vio: (id, project) => project && to('projects', project, 'violations', id),
  mod: (id, project) => project && to('projects', project, 'registry', id),
  req: (id, project) => project && to('projects', project, 'requests', id),
}

/** Matches an ID in the form that the server creates. Shorter texts could be words that someone chose. */
const ID = /((?<![0-9A-Za-z_])(?:proj|grp|key|vio|mod|req)_[0-9a-f]{24,32}(?![0-9A-Za-z_]))/

/** The page that an ID leads to, or undefined. @param {string} [project] ID of the project that has it */
export function hrefOf(id, project) {
  const [kind] = id.split('_')
  return (Object.hasOwn(PAGES, kind) && PAGES[kind](id, project)) || undefined
}

/** A text split into pieces: text and IDs in turn, beginning with text. */
export const piecesOf = (text) => text.split(ID)

/** The ID of a model's entry in a project's registry. It must match EntryID in control/inventory. */
export const entryOf = (model) => `mod_${sha256(model).slice(0, ENTRY_DIGITS)}`

/** A link to the models page that shows a model, or the models of a tier. */
export const modelHref = (name) => `${to('models')}?q=${encodeURIComponent(name)}`
