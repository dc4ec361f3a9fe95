// The shell of every page: navigation, project switcher, theme, help links, session, notices.
import { useEffect, useRef, useState } from 'preact/hooks'
import { DOCS, HELP } from '../help.js'
import { html } from '../html.js'
import { subscribe } from '../notices.js'
import { PaletteButton } from '../palette/palette.js'
import { to } from '../router.js'
import { useSession } from '../session.js'
import { setTheme, THEMES, theme } from '../theme.js'
import { setZone, useZone, ZONES } from '../zone.js'
import { Button } from './button.js'
import { OutageBanner } from './outage.js'
import { Switcher } from './switcher.js'

const PROJECT_PAGES = [
  ['home', 'Overview', []],
  ['costs', 'Costs', ['costs']],
  ['keys', 'API keys', ['keys']],
  ['playground', 'Playground', ['playground']],
  ['requests', 'Requests', ['requests']],
  ['routes', 'Routes', ['routes']],
  ['provider-keys', 'Provider keys', ['provider-keys']],
  ['governor', 'Governor', ['governor']],
  ['violations', 'Violations', ['violations']],
  ['registry', 'Model registry', ['registry']],
  ['compliance', 'Compliance', ['compliance']],
  ['settings', 'Settings', ['settings']],
]
const OTHER_PAGES = [
  ['overview', 'Home', []],
  ['projects', 'Projects', ['projects']],
  ['groups', 'Groups', ['groups']],
  ['all-violations', 'All violations', ['violations']],
  ['models', 'Models and prices', ['models']],
  ['providers', 'Provider status', ['providers']],
  ['audit', 'Audit log', ['audit']],
]
const FOUND_PAGES = { project: PROJECT_PAGES, others: OTHER_PAGES }
const PARENTS = {
  'key-new': 'keys',
  key: 'keys',
  'project-new': 'projects',
  group: 'groups',
  'group-new': 'groups',
  request: 'requests',
  violation: 'violations',
  'registry-new': 'registry',
  'registry-entry': 'registry',
}

export function Shell({ location, children }) {
  const [open, setOpen] = useState(false)
  const visited = useRef('')
  if (location.params.project) visited.current = location.params.project
  useEffect(() => setOpen(false), [location.path])
  return html`<div class="shell">
    <a class="skip" href="#main">Skip to content</a>
    <header class="side">
      <div class="brand-line">
        <a class="brand" href=${to()}><${Mark} /> Postern</a>
        <${PaletteButton} project=${visited.current} pages=${FOUND_PAGES} path=${`${location.path}?${location.query}`} />
        <${Button} look="small menu" aria-expanded=${open ? 'true' : 'false'} aria-controls="side-rest"
          onClick=${() => setOpen(!open)}>Menu<//>
      </div>
      <div id="side-rest" class=${open ? 'open' : ''}>
        <${Switcher} current=${visited.current} path=${location.path} />
        <${Navigation} page=${location.page} project=${visited.current} />
        <${Account} />
        <${HelpLinks} />
      </div>
    </header>
    <main id="main"><${OutageBanner} />${children}</main>
    <${Notices} />
  </div>`
}

export function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
    <path d="M3 30V10L8 4h16l5 6v20H21V18a5 5 0 0 0-10 0v12z" fill="currentColor" />
  </svg>`
}

/** The pages of the last visited project and of the deployment. */
function Navigation({ page, project }) {
  const current = PARENTS[page] ?? page
  const item = ([name, label], href) => html`<li key=${name}>
    <a href=${href} aria-current=${name === current ? 'page' : undefined}>${label}</a>
  </li>`
  return html`<nav aria-label="Pages">
    ${project && html`<ul>${PROJECT_PAGES.map((entry) => item(entry, to('projects', project, ...entry[2])))}</ul>`}
    <ul aria-label="Deployment">${OTHER_PAGES.map((entry) => item(entry, to(...entry[2])))}</ul>
  </nav>`
}

function Account() {
  const { name, role, via, pending, signOut } = useSession()
  return html`<div class="account">
    <${ThemeSwitch} />
    <${ZoneSwitch} />
    <div class="who">
      <p><span class="muted">Signed in as</span> <strong>${pending ? '…' : name}</strong>${pending || name === role ? '' : ` (${role})`}</p>
      ${
        via === 'session'
          ? html`<${Button} look="small" onClick=${signOut}>Sign out<//>`
          : !pending && html`<p class="muted">with ${via === 'access' ? 'Cloudflare Access' : 'a token'}</p>`
      }
    </div>
  </div>`
}

/** Links to the documentation, the model list and the API description. */
export function HelpLinks() {
  const { docs } = useSession()
  const links = HELP.filter(([, href]) => docs || !href.startsWith(DOCS))
  return html`<ul class="help" aria-label="Help">${links.map(
    ([label, href]) => html`<li key=${label}><a href=${href} target="_blank" rel="noreferrer">${label}</a></li>`,
  )}</ul>`
}

export function ThemeSwitch() {
  const [selected, select] = useState(theme())
  const change = (name) => {
    setTheme(name)
    select(name)
  }
  return html`<${Switch} label="Theme" names=${THEMES} selected=${selected} onSelect=${change} />`
}

function ZoneSwitch() {
  return html`<${Switch} label="Times" names=${ZONES} selected=${useZone()} onSelect=${setZone} />`
}

function Switch({ label, names, selected, onSelect }) {
  return html`<label class="theme"><span>${label}</span>
    <select value=${selected} onChange=${(event) => onSelect(event.target.value)}>
      ${names.map((name) => html`<option value=${name} key=${name} selected=${name === selected}>${name}</option>`)}
    </select>
  </label>`
}

function Notices() {
  const [notice, setNotice] = useState({ text: '', id: 0 })
  useEffect(() => subscribe(setNotice), [])
  return html`<div class="notices" role="status" aria-live="polite">
    ${notice.text && html`<p key=${notice.id}>${notice.text}</p>`}
  </div>`
}
