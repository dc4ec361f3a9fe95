// The application: sign-in, shell, and the page for the current path.
import { Component } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, get, onSignedOut, path, remove } from './api.js'
import { Button } from './components/button.js'
import { OutageBanner } from './components/outage.js'
import { Page } from './components/page.js'
import { Shell } from './components/shell.js'
import { adviceOn, Failure, Skeleton, shownElsewhere } from './components/states.js'
import { UnsavedDialog } from './components/unsaved.js'
import { html } from './html.js'
import { notify } from './notices.js'
import { AllViolationsPage } from './pages/all-violations.js'
import { AuditPage } from './pages/audit.js'
import { CompliancePage } from './pages/compliance.js'
import { CostsPage } from './pages/costs.js'
import { GovernorPage } from './pages/governor.js'
import { GroupPage } from './pages/group.js'
import { NewGroupPage } from './pages/group-new.js'
import { GroupsPage } from './pages/groups.js'
import { HomePage } from './pages/home.js'
import { KeyPage } from './pages/key.js'
import { NewKeyPage } from './pages/key-new.js'
import { KeysPage } from './pages/keys.js'
import { MissingPage } from './pages/missing.js'
import { ModelsPage } from './pages/models.js'
import { OverviewPage } from './pages/overview.js'
import { PlaygroundPage } from './pages/playground.js'
import { NewProjectPage } from './pages/project-new.js'
import { ProjectsPage } from './pages/projects.js'
import { ProviderKeysPage } from './pages/provider-keys.js'
import { ProvidersPage } from './pages/providers.js'
import { RegistryPage } from './pages/registry.js'
import { NewEntryPage, RegistryEntryPage } from './pages/registry-entry.js'
import { RequestPage } from './pages/request.js'
import { RequestsPage } from './pages/requests.js'
import { RoutesPage } from './pages/routes.js'
import { SettingsPage } from './pages/settings.js'
import { SignInDialog, SignInPage } from './pages/signin.js'
import { ViolationPage } from './pages/violation.js'
import { ViolationsPage } from './pages/violations.js'
import { useResource } from './resource.js'
import { navigate, safeNext, to, useLocation } from './router.js'
import { forgetKeys, PENDING, Session } from './session.js'
import { leaving } from './unsaved.js'
import { visit } from './visited.js'
import { useZone } from './zone.js'

const PAGES = {
  overview: OverviewPage,
  projects: ProjectsPage,
  'project-new': NewProjectPage,
  groups: GroupsPage,
  'group-new': NewGroupPage,
  'all-violations': AllViolationsPage,
  models: ModelsPage,
  providers: ProvidersPage,
  audit: AuditPage,
}
const PROJECT_PAGES = {
  home: HomePage,
  costs: CostsPage,
  keys: KeysPage,
  'key-new': NewKeyPage,
  key: KeyPage,
  routes: RoutesPage,
  'provider-keys': ProviderKeysPage,
  requests: RequestsPage,
  request: RequestPage,
  governor: GovernorPage,
  violations: ViolationsPage,
  violation: ViolationPage,
  registry: RegistryPage,
  'registry-new': NewEntryPage,
  'registry-entry': RegistryEntryPage,
  compliance: CompliancePage,
  playground: PlaygroundPage,
  settings: SettingsPage,
}

function signInPath() {
  return `${to('signin')}?next=${encodeURIComponent(location.pathname + location.search)}`
}

/** The current session. If there is none, it has no role. */
async function currentSession() {
  try {
    return await get('session', { anonymous: true })
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return { docs: error.documented }
    throw error
  }
}

export function App() {
  const place = useLocation()
  const session = useResource(currentSession, [])
  const { data, error } = session
  const signedIn = Boolean(data?.role)
  const onSignIn = place.page === 'signin'
  const user = useUser(data)
  useEffect(() => {
    if (data === undefined) return
    if (!signedIn && !onSignIn) navigate(signInPath(), { replace: true })
    if (signedIn && onSignIn) navigate(safeNext(place.query.get('next')), { replace: true })
  }, [data, signedIn, onSignIn])

  if (data === undefined && error && !shownElsewhere(error))
    return html`<main class="alone"><${Failure} error=${error} retry=${session.reload} what="the session" /></main>`
  if (data === undefined && onSignIn)
    return html`<main class="alone"><${OutageBanner} /><${Skeleton} label="Loading the session" /></main>`
  if (data && !signedIn)
    return html`<${Session.Provider} value=${{ ...PENDING, ...data }}><${SignInPage} onSignedIn=${session.set} /><//>`
  return html`<${SignedIn} key=${user} session=${data ?? PENDING} setSession=${session.set} place=${place} />`
}

/**
 * A number that identifies the user and role of a session. The number stays the same when the first session becomes
 * known.
 */
function useUser(session) {
  const user = useRef({ name: undefined, number: 0 })
  const name = session && `${session.role} ${session.name}`
  if (user.current.name !== undefined && name !== user.current.name) user.current.number++
  user.current.name = name
  return user.current.number
}

/**
 * The dashboard for one user and role. The page loads in parallel with the session, and stays mounted while the same
 * user signs in again.
 */
function SignedIn({ session, setSession, place }) {
  const [ended, setEnded] = useState(false)
  const [renewals, setRenewals] = useState(0)
  const { pending = false } = session
  useZone() // a change of the zone renders all times again
  // While the session is still loading, the response to that load says whether there is a session.
  useEffect(() => onSignedOut(() => pending || setEnded(true)), [pending])
  useEffect(() => forgetKeys, []) // the next user must not see the keys of this user
  const leave = () => setSession({ docs: session.docs })
  const signOut = async () => {
    try {
      await remove('session', { anonymous: true })
    } catch (error) {
      if (error.status !== 401) return notify(`You are still signed in: ${error.message}. ${adviceOn(error)}`)
    }
    leave()
  }
  const renewed = (next) => {
    setEnded(false)
    setRenewals(renewals + 1)
    setSession(next)
  }
  return html`<${Session.Provider} value=${{ ...session, pending, renewals, signOut: () => leaving(signOut) }}>
    <${Shell} location=${place}><${Boundary} path=${place.path}><${CurrentPage} place=${place} /><//><//>
    <${UnsavedDialog} />
    ${ended && html`<${SignInDialog} onSignedIn=${renewed} onLeave=${leave} />`}
  <//>`
}

/** Contains a rendering error to its page. The next navigation clears it. */
class Boundary extends Component {
  state = { fault: null }

  static getDerivedStateFromError(fault) {
    return { fault }
  }

  componentDidCatch(fault) {
    console.error(fault)
  }

  componentDidUpdate({ path: before }) {
    if (this.state.fault && before !== this.props.path) this.setState({ fault: null })
  }

  render({ children }, { fault }) {
    if (!fault) return children
    return html`<${Page} title="This page failed">
      <p>The dashboard hit an error: <code>${String(fault.message ?? fault)}</code></p>
      <p>Reload the page. The other pages still work.</p>
      <${Button} look="primary" onClick=${() => location.reload()}>Reload page<//>
    <//>`
  }
}

function CurrentPage({ place }) {
  if (place.page === 'signin') return html`<${Skeleton} />`
  const Simple = PAGES[place.page]
  if (Simple) return html`<${Simple} key=${place.page} />`
  if (place.page === 'group') return html`<${GroupPage} key=${place.path} id=${place.params.group} />`
  const OfProject = PROJECT_PAGES[place.page]
  if (!OfProject) return html`<${MissingPage} />`
  return html`<${ProjectScope} key=${place.params.project} id=${place.params.project} page=${place.page}>
    ${(
      project,
    ) => html`<${OfProject} key=${place.path} project=${project.data ?? unknown(place.params.project)} whole=${project}
      setProject=${project.set} params=${place.params} />`}
  <//>`
}

/**
 * A project whose data has not been loaded. Only its ID is known. A page that needs more waits for the resource
 * "whole".
 */
const unknown = (id) => ({ id, name: '' })

/** Loads the page's project in parallel with the page. */
function ProjectScope({ id, page, children }) {
  const project = useResource((signal) => get(path`projects/${id}`, { signal }), [page])
  const { data, error } = project
  useEffect(() => {
    if (data) visit(data)
  }, [data])
  if (error?.status === 404) return html`<${MissingPage} what="Project" />`
  if (data === undefined && error && !shownElsewhere(error)) {
    return html`<${Page} title="Project"><${Failure} error=${error} retry=${project.reload} what="the project" /><//>`
  }
  return html`<div class="loaded">
    ${data?.status === 'archived' && html`<p class="banner">This project is archived: requests with its keys are rejected with 401. <a href=${to('projects', id, 'settings')}>Restore it in Settings</a></p>`}
    ${children({ ...project, loading: false, stale: false })}</div>`
}
