// The page layout: title, heading, actions and content.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../html.js'
import { visits } from '../router.js'
import { useSession, useViewer, VIEWER_REASON } from '../session.js'
import { VIEWER_NOTE_ID } from './button.js'

/**
 * Focuses the heading after the focused element has been removed. The change is deferred, because an open dialog
 * would keep the focus.
 */
export function focusHeading() {
  setTimeout(() => document.querySelector('h1')?.focus())
}

/**
 * Sets the document title and moves the focus to the heading after a navigation.
 * @param {{title: string, of?: string, actions?: any, lead?: string, children: any}} props  of: the project's name, which is empty until it has loaded
 */
export function Page({ title, of, actions, lead, children }) {
  const heading = useRef(null)
  const { pending } = useSession()
  const viewer = useViewer() && !pending
  // The title is set together with the heading, not a frame later, so both name the same page.
  useLayoutEffect(() => {
    document.title = [title, of, 'Postern'].filter(Boolean).join(' · ')
  }, [title, of])
  useEffect(() => {
    // A drawer that is open from the start keeps the focus.
    if (visits.count > 0 && !document.querySelector('.drawer')) heading.current.focus()
  }, [])
  return html`<div class="page">
    <header class="page-head">
      <div>
        ${of !== undefined && html`<p class="page-of">${of || '…'}</p>`}
        <h1 tabindex="-1" ref=${heading}>${title}</h1>
      </div>
      ${actions && html`<div class="page-actions">${actions}</div>`}
    </header>
    ${viewer && html`<p class="viewer-note" id=${VIEWER_NOTE_ID}>${VIEWER_REASON}</p>`}
    ${lead && html`<p class="lead">${lead}</p>`}
    ${children}
  </div>`
}

export function Card({ title, actions, children, look = '' }) {
  return html`<section class=${`card ${look}`} aria-label=${title}>
    ${
      title &&
      html`<div class="card-head">
      <h2>${title}</h2>
      ${actions}
    </div>`
    }
    ${children}
  </section>`
}
