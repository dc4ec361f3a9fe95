// The project switcher: a button that opens a searchable list.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { get } from '../api.js'
import { html } from '../html.js'
import { useDebounced, useResource } from '../resource.js'
import { to } from '../router.js'
import { useVisited } from '../visited.js'
import { Button } from './button.js'
import { Loaded } from './states.js'

const SHOWN = 20

export function Switcher({ current, path }) {
  const [open, setOpen] = useState(false)
  const frame = useRef(null)
  const id = useId()
  const visited = useVisited()
  const name = visited.id === current ? visited.name : '…'
  useEffect(() => setOpen(false), [path])
  useEffect(() => {
    if (!open) return
    const outside = (event) => frame.current.contains(event.target) || setOpen(false)
    document.addEventListener('pointerdown', outside)
    return () => document.removeEventListener('pointerdown', outside)
  }, [open])
  const closeOnEscape = (event) => {
    if (event.key !== 'Escape' || !open) return
    event.preventDefault() // the key must not close anything else
    setOpen(false)
    frame.current.querySelector('button').focus()
  }
  return html`<div class="switcher" ref=${frame} onKeyDown=${closeOnEscape}>
    <${Button} look="switch" aria-expanded=${open ? 'true' : 'false'} aria-controls=${id} onClick=${() => setOpen(!open)}>
      <span class="visually-hidden">Switch project: </span><span class="switch-name">${current ? name : 'Select a project'}</span><span aria-hidden="true">▾</span>
    <//>
    <div id=${id} class="switch-panel" hidden=${!open}>${open && html`<${Choices} current=${current} />`}</div>
  </div>`
}

function Choices({ current }) {
  const [text, setText] = useState('')
  const q = useDebounced(text.trim())
  const input = useRef(null)
  const found = useResource((signal) => get('projects', { query: { q, limit: SHOWN, status: 'active' }, signal }), [q])
  useEffect(() => input.current.focus(), [])
  return html`<div>
    <label class="visually-hidden" for="switch-search">Search projects</label>
    <input id="switch-search" type="search" placeholder="Search projects" autocomplete="off" ref=${input} value=${text}
      onInput=${(event) => setText(event.target.value)} />
    <${Loaded} of=${found} what="projects" rows=${3}>${({ projects, next }) =>
      html`<ul aria-label="Projects">
        ${projects.map(
          (project) => html`<li key=${project.id}><a href=${to('projects', project.id)}
            aria-current=${project.id === current ? 'true' : undefined}>${project.name}</a></li>`,
        )}
        ${projects.length === 0 && html`<li class="muted">No projects match</li>`}
        ${next && html`<li class="muted">More projects match. Refine the search.</li>`}
      </ul>`}<//>
    <p class="switch-foot"><a href=${to('projects')}>All projects</a> <a href=${to('projects', 'new')}>Create project</a></p>
  </div>`
}
