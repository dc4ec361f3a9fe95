// The signed-in user, and the API key that this page remembers until it is closed.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

export const VIEWER_REASON = 'You are signed in as a viewer. Viewers cannot make changes.'

/**
 * renewals: the number of sign-ins since the page was opened. Failed loads are repeated after each sign-in. docs: the
 * deployment serves the documentation. Nothing links to it until a response says so. pending: the session is still
 * being loaded in parallel with the page, and nobody can make changes yet.
 */
export const Session = createContext({
  role: 'viewer',
  name: '',
  via: 'session',
  expiresAt: null,
  docs: false,
  renewals: 0,
  pending: false,
  signOut() {},
})

export const useSession = () => useContext(Session)
export const useViewer = () => useSession().role !== 'owner'

/** The session until the server has responded. */
export const PENDING = { role: 'viewer', name: '', via: '', expiresAt: null, docs: false, pending: true }

/**
 * The last key that was created or used in this page, for the playground. It is kept in memory, never in browser
 * storage.
 */
let remembered = null

/** @param {{project: string, key: object, value: string}} key */
export function rememberKey(key) {
  remembered = key
}

export function rememberedKey(project) {
  return remembered?.project === project ? remembered : null
}

export function forgetKeys() {
  remembered = null
}
