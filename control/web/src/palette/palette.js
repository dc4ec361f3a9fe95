// The palette: finds projects, groups, keys, violations, requests, models, pages and actions. The field is a combobox whose options
// are the results, in groups.
// Source: WAI-ARIA Authoring Practices, "Combobox", with a listbox popup.
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { adviceOn } from '../components/states.js'
import { plural } from '../format.js'
import { html } from '../html.js'
import { navigate } from '../router.js'
import { useSession } from '../session.js'
import { FoundKey, useFoundKey } from './found-key.js'
import { useGroups } from './groups.js'
import { KEY_LENGTH, readQuery, wholeKey } from './query.js'

const MAX_TEXT = 200 // maximum length of a search text in the API
const APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** The button that opens the palette, and its shortcut. */
export function PaletteButton({ project, pages, path }) {
  const [open, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path])
  useEffect(() => {
    const onKey = (event) => {
      if (!isShortcut(event)) return
      event.preventDefault()
      if (!document.querySelector('dialog:modal')) setOpen(true)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return html`<${Button} look="small find" aria-keyshortcuts=${APPLE ? 'Meta+K' : 'Control+K'} aria-haspopup="dialog" onClick=${() => setOpen(true)}>
      Find <kbd aria-hidden="true">${APPLE ? '⌘K' : 'Ctrl K'}</kbd><//>
    ${open && html`<${Palette} project=${project} pages=${pages} onClose=${() => setOpen(false)} />`}`
}

function isShortcut({ key, ctrlKey, metaKey, shiftKey, altKey }) {
  return key.toLowerCase() === 'k' && (APPLE ? metaKey : ctrlKey) && !shiftKey && !altKey
}

function Palette({ project, pages, onClose }) {
  const [typed, setTyped] = useState({ text: '', key: null })
  const query = readQuery(typed.text)
  const session = useSession()
  const found = useFoundKey(typed.key?.hash, onClose)
  const others = useGroups(typed.key ? { kind: 'secret', text: '' } : query, { project, pages, session })
  const groups = typed.key ? [found.group] : others
  const choose = (item) => {
    if (!item.keepOpen) onClose()
    if (item.href) navigate(item.href)
    else item.run()
  }
  return html`<${Dialog} title="Find anything" onClose=${onClose}>
      <div class="palette">
        <${Combobox} typed=${typed} setTyped=${setTyped} groups=${groups} choose=${choose}
          note=${typed.key || query.kind !== 'secret' ? '' : secretNote} />
        ${typed.key && html`<${FoundKey} of=${found} />`}
      </div>
    <//>
    ${found.dialog}`
}

const secretNote = `This looks like a part of a key, or like a secret of another service. The dashboard does not send it. Paste a whole API key, of ${KEY_LENGTH} characters, to find it.`

/** A complete key is hashed at once and replaced with its masked form, so the page does not keep the key. */
function takeText(text, setTyped, input) {
  const key = wholeKey(text)
  const shown = key ? key.masked : text
  if (input.value !== shown) input.value = shown
  setTyped({ text: shown, key })
}

function Combobox({ typed, setTyped, groups, choose, note }) {
  const id = useId()
  const items = groups.flatMap((group) => group.items)
  const [wanted, setWanted] = useState('')
  const at = Math.max(
    0,
    items.findIndex((item) => item.id === wanted),
  )
  const active = items[at]
  const list = useRef(null)
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [active?.id])
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && items.length > 0) {
      event.preventDefault()
      setWanted(items[(at + step + items.length) % items.length].id)
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault()
      if (active) choose(active)
    }
  }
  const onInput = ({ currentTarget: input }) => {
    setWanted('')
    takeText(input.value, setTyped, input)
  }
  const onPaste = (event) => {
    const pasted = event.clipboardData?.getData('text') ?? ''
    if (!wholeKey(pasted)) return
    event.preventDefault()
    takeText(pasted, setTyped, event.currentTarget)
  }
  const listbox =
    items.length > 0 ? { 'aria-controls': `${id}-list`, 'aria-activedescendant': `${id}-${active.id}` } : {}
  return html`
    <input class="palette-text" type="text" role="combobox" aria-label="Find" aria-expanded=${items.length > 0 ? 'true' : 'false'}
      aria-autocomplete="list" autocomplete="off" autocapitalize="off" spellcheck=${false} autofocus maxlength=${MAX_TEXT}
      placeholder="Project, group, key, model, page, ID, or a whole key" aria-describedby=${`${id}-status`}
      value=${typed.text} onInput=${onInput} onPaste=${onPaste} onKeyDown=${onKeyDown} ...${listbox} />
    <${Status} id=${`${id}-status`} groups=${groups} note=${note} count=${items.length} />
    ${
      items.length > 0 &&
      html`<div class="palette-list" role="listbox" id=${`${id}-list`} aria-label="Results" ref=${list}>
      ${groups.filter((group) => group.items.length > 0).map((group) => html`<${Options} key=${group.label} id=${id} group=${group} active=${active} choose=${choose} />`)}
    </div>`
    }`
}

/**
 * Says what the list does not show: whether the list is incomplete, where the search looked, and what failed. Screen
 * readers announce changes.
 */
function Status({ id, groups, note, count }) {
  const loading = groups.some((group) => group.loading)
  const notes = [note, ...groups.map((group) => group.note)].filter(Boolean)
  const failed = groups.find((group) => group.error)
  const summary = loading
    ? 'Looking …'
    : count > 0
      ? plural(count, 'result')
      : notes.length > 0 || failed
        ? ''
        : 'Nothing found in projects, groups, keys, models, pages and actions.'
  return html`<div class="palette-status" id=${id} role="status">
    ${notes.map((text) => html`<p key=${text}>${text}</p>`)}
    ${failed && html`<p class="palette-failed">${failed.label}: ${failed.error.message}. ${adviceOn(failed.error)}</p>`}
    ${summary && html`<p class="muted">${summary}</p>`}
  </div>`
}

function Options({ id, group, active, choose }) {
  const heading = `${id}-${group.label}`
  return html`<div role="group" aria-labelledby=${heading}>
    <p class="palette-group" id=${heading} role="presentation">${group.label}</p>
    ${group.items.map(
      (item) => html`<div key=${item.id} class="palette-option" role="option" id=${`${id}-${item.id}`}
      aria-selected=${item === active ? 'true' : 'false'} onPointerDown=${(event) => event.preventDefault()} onClick=${() => choose(item)}>
      <span class="palette-label" title=${item.label}>${item.label}</span>
      ${item.mark && html`<${Badge} of=${item.mark} />`}
      ${item.detail && html`<span class="palette-detail" title=${item.detail}>${item.detail}</span>`}
    </div>`,
    )}
  </div>`
}
