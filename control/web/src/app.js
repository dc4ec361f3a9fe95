// Who may see what: the sign-in, the shell, and the page that the address names.
import { useEffect } from 'preact/hooks'
import { ApiError, get, onSignedOut, path, remove } from './api.js'
import { Page } from './components/page.js'
import { Shell } from './components/shell.js'
import { Failure, Loaded, Skeleton } from './components/states.js'
import { html } from './html.js'
import { AuditPage } from './pages/audit.js'
import { HomePage } from './pages/home.js'
import { KeyPage } from './pages/key.js'
import { NewKeyPage } from './pages/key-new.js'
import { KeysPage } from './pages/keys.js'
import { MissingPage } from './pages/missing.js'
import { ModelsPage } from './pages/models.js'
import { PlaygroundPage } from './pages/playground.js'
import { NewProjectPage } from './pages/project-new.js'
import { ProjectsPage } from './pages/projects.js'
import { ProviderKeysPage } from './pages/provider-keys.js'
import { ProvidersPage } from './pages/providers.js'
import { RequestsPage } from './pages/requests.js'
import { RoutesPage } from './pages/routes.js'
import { SettingsPage } from './pages/settings.js'
import { SignInPage } from './pages/signin.js'
import { useResource } from './resource.js'
import { navigate, safeNext, to, useLocation } from './router.js'
import { forgetKeys, Session } from './session.js'

const PAGES = {
  projects: ProjectsPage,
  'project-new': NewProjectPage,
  models: ModelsPage,
  providers: ProvidersPage,
  audit: AuditPage,
}
const PROJECT_PAGES = {
  home: HomePage,
  keys: KeysPage,
  'key-new': NewKeyPage,
  key: KeyPage,
  routes: RoutesPage,
  'provider-keys': ProviderKeysPage,
  requests: RequestsPage,
  playground: PlaygroundPage,
  settings: SettingsPage,
}

function signInPath() {
  return `${to('signin')}?next=${encodeURIComponent(location.pathname + location.search)}`
}

/** The present session; null if nobody is signed in. */
async function presentSession() {
  try {
    return await get('session', { anonymous: true })
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}

export function App() {
  const place = useLocation()
  const session = useResource(presentSession, [])
  const { data, error } = session
  const signedIn = Boolean(data)
  useEffect(() => {
    onSignedOut(() => {
      forgetKeys()
      session.set(null)
    })
  }, [session.set])
  const onSignIn = place.page === 'signin'
  useEffect(() => {
    if (data === undefined) return
    if (!signedIn && !onSignIn) navigate(signInPath(), { replace: true })
    if (signedIn && onSignIn) navigate(safeNext(place.query.get('next')), { replace: true })
  }, [data, signedIn, onSignIn])

  if (data === undefined && error)
    return html`<main class="alone"><${Failure} error=${error} retry=${session.reload} what="the session" /></main>`
  if (data === undefined) return html`<main class="alone"><${Skeleton} label="Loading the session" /></main>`
  if (!signedIn) return html`<${SignInPage} onSignedIn=${session.set} />`
  const signOut = async () => {
    await remove('session', { anonymous: true }).catch(() => {})
    forgetKeys()
    session.set(null)
  }
  return html`<${Session.Provider} value=${{ ...data, signOut }}>
    <${Shell} location=${place}><${CurrentPage} place=${place} /><//>
  <//>`
}

function CurrentPage({ place }) {
  if (place.page === 'signin') return html`<${Skeleton} />`
  const Simple = PAGES[place.page]
  if (Simple) return html`<${Simple} key=${place.page} />`
  const OfProject = PROJECT_PAGES[place.page]
  if (!OfProject) return html`<${MissingPage} />`
  return html`<${ProjectScope} key=${place.params.project} id=${place.params.project} page=${place.page}>
    ${(project) => html`<${OfProject} key=${place.path} project=${project.data} setProject=${project.set} params=${place.params} />`}
  <//>`
}

/** Loads the project that a page is about. */
function ProjectScope({ id, page, children }) {
  const project = useResource((signal) => get(path`projects/${id}`, { signal }), [page])
  if (project.error?.status === 404) return html`<${MissingPage} what="project" />`
  if (project.data === undefined && project.error) {
    return html`<${Page} title="Project"><${Failure} error=${project.error} retry=${project.reload} what="the project" /><//>`
  }
  return html`<${Loaded} of=${{ ...project, loading: false }} what="the project">${() => html`
    ${project.data.status === 'archived' && html`<p class="banner">This project is archived: all its keys are refused with 401. <a href=${to('projects', id, 'settings')}>Restore it in its settings</a></p>`}
    ${children(project)}`}<//>`
}
