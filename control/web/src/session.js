// Who is signed in, and what this page remembers of them until it is closed.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

export const VIEWER_REASON = 'You are signed in as a viewer, who can look at everything and change nothing.'

/** renewals: how often somebody has signed in again since the page was opened; what failed meanwhile is loaded anew. */
export const Session = createContext({
  role: 'viewer',
  name: '',
  via: 'session',
  expiresAt: null,
  renewals: 0,
  signOut() {},
})

export const useSession = () => useContext(Session)
export const useViewer = () => useSession().role !== 'owner'

/** The value of the key that was made last, for the playground: in this page's memory, never in a storage. */
let made = null

/** @param {{project: string, key: object, value: string}} key */
export function rememberKey(key) {
  made = key
}

export function rememberedKey(project) {
  return made?.project === project ? made : null
}

export function forgetKeys() {
  made = null
}
