// A drawer is a dialog on the right of a page. The page does not change and can still be used.
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { html } from '../html.js'
import { Button } from './button.js'

/**
 * The widths at which a drawer covers most of the page. At these widths it is modal, so nothing under it can get the
 * focus.
 */
const narrow = matchMedia('(max-width: 860px)')

function useNarrow() {
  const [matches, setMatches] = useState(narrow.matches)
  useEffect(() => {
    const follow = () => setMatches(narrow.matches)
    narrow.addEventListener('change', follow)
    return () => narrow.removeEventListener('change', follow)
  }, [])
  return matches
}

/**
 * Closes on Escape wherever the focus is, because the drawer may cover the focused element (WCAG 2.2, 2.4.11, note
 * 2). If another dialog is on top, Escape closes that dialog instead.
 */
function useEscape(onClose) {
  useEffect(() => {
    const press = (event) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return
      if (document.querySelector('dialog:modal:not(.drawer)')) return
      event.preventDefault()
      onClose()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  })
}

/**
 * A drawer. When it opens, its heading gets the focus. Closing the drawer returns the focus.
 * @param {{title: string, shows: string, actions: any, onClose: () => void, onKeyDown?: (event: KeyboardEvent) => void, children: any}} props
 *   shows: the ID of the content. New content is scrolled to its beginning. actions: buttons next to the heading
 */
export function Drawer({ title, shows, actions, onClose, onKeyDown, children }) {
  const ref = useRef(null)
  const heading = useRef(null)
  const id = useId()
  const modal = useNarrow()
  useEscape(onClose)
  useLayoutEffect(() => {
    const dialog = ref.current
    if (modal) dialog.showModal()
    else dialog.show()
    return () => dialog.close()
  }, [modal])
  useLayoutEffect(() => {
    ref.current.scrollTop = 0
    // The element that had the focus may have disappeared with the previous content.
    if (document.activeElement === document.body) heading.current.focus()
  }, [shows])
  // A phone's back gesture closes a modal dialog on its own.
  const closed = () => ref.current && !ref.current.open && onClose()
  return html`<dialog class="drawer" ref=${ref} aria-labelledby=${id} onClose=${closed} onKeyDown=${onKeyDown}>
    <header class="drawer-head">
      <h2 id=${id} ref=${heading} tabindex="-1" autofocus>${title}</h2>
      <div class="row-actions">${actions}<${Button} look="small" onClick=${onClose}>Close<//></div>
    </header>
    ${children}
  </dialog>`
}
