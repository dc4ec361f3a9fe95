// The pages and actions in the palette.
import { to } from '../router.js'
import { setTheme } from '../theme.js'
import { setZone } from '../zone.js'
import { matchesWords } from './query.js'

const THEMES = [
  ['light', 'Use the light theme'],
  ['dark', 'Use the dark theme'],
  ['system', 'Use the theme of the system'],
]

const ZONES = [
  ['UTC', 'Show times in UTC'],
  ['local', 'Show times in local time'],
]

/**
 * The pages and actions that match a text. An empty text matches all of them.
 * @param {string} text
 * @param {{project: string, pages: {project: any[], others: any[]}, session: object}} place
 *   project: ID of the project in view, or ''; pages: as in the shell
 * @returns {{label: string, items: object[]}[]}
 */
export function commandGroups(text, place) {
  const matching = (items) => items.filter(({ label, detail }) => matchesWords(`${label} ${detail ?? ''}`, text))
  return [
    { label: 'Pages', items: matching(pagesOf(place)) },
    { label: 'Actions', items: matching(actionsOf(place)) },
  ]
}

function pagesOf({ project, pages }) {
  const item = ([name, label, segments], of) => ({ id: `page-${name}`, label, ...of(segments) })
  return [
    ...(project
      ? pages.project.map((page) =>
          item(page, (segments) => ({ href: to('projects', project, ...segments), detail: 'project in view' })),
        )
      : []),
    ...pages.others.map((page) => item(page, (segments) => ({ href: to(...segments) }))),
  ]
}

function actionsOf({ project, session }) {
  const changes = [
    { id: 'new-project', label: 'New project', detail: 'create', href: to('projects', 'new') },
    { id: 'new-group', label: 'New group', detail: 'create', href: to('groups', 'new') },
    project && {
      id: 'new-key',
      label: 'New key',
      detail: 'create, in the project in view',
      href: to('projects', project, 'keys', 'new'),
    },
  ]
  const themes = THEMES.map(([name, label]) => ({ id: `theme-${name}`, label, run: () => setTheme(name) }))
  const zones = ZONES.map(([name, label]) => ({ id: `zone-${name}`, label, run: () => setZone(name) }))
  const signOut = session.via === 'session' && { id: 'sign-out', label: 'Sign out', run: session.signOut }
  return [...(session.role === 'owner' ? changes : []), ...themes, ...zones, signOut].filter(Boolean)
}
