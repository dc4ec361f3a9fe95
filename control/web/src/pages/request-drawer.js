// The drawer of a request list. It shows everything that the page of a request shows. The list stays unchanged.
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Button, ButtonLink } from '../components/button.js'
import { CopyButton } from '../components/copy.js'
import { Drawer } from '../components/drawer.js'
import { Id } from '../components/ids.js'
import { focusHeading } from '../components/page.js'
import { Skeleton } from '../components/states.js'
import { count, timestamp } from '../format.js'
import { html } from '../html.js'
import { causeWords, outcomeWords } from '../outcomes.js'
import { followed, match, to, useQuery } from '../router.js'
import { FoundRequest, Request, useRequest } from './request.js'

/** A selector that matches the list's table, but not the tables inside a drawer. */
export const LIST = '.loaded > .table-frame'

const rowLink = (id) => document.querySelector(`${LIST} a[href$="/requests/${CSS.escape(id)}"]`)

/**
 * The request that is open in the page's list. Its ID is in the URL parameter "open". The browser's back button
 * closes the request.
 * @returns {{id: string, show: (id: string) => void, close: () => void, choose: (event: MouseEvent) => void}}
 *   id: empty if none is open; choose: handles clicks in the list and opens the request whose link is followed
 */
export function useOpened() {
  const [{ open: id }, setQuery] = useQuery(['open'])
  const entry = useRef('')
  const show = (next) => {
    if (id) return setQuery({ open: next })
    // When the drawer closes, the browser would restore this scroll position. The user may have scrolled the list in
    // the meantime.
    history.scrollRestoration = 'manual'
    setQuery({ open: next }, { step: true })
    history.scrollRestoration = 'auto'
    entry.current = entryWithout()
  }
  const close = () => {
    const before = entry.current
    entry.current = ''
    // The previous history entry has the filters with which the request was opened. Going back must not undo later
    // changes.
    if (before === entryWithout()) history.back()
    else setQuery({ open: '' })
  }
  const choose = (event) => {
    const link = followed(event) ?? rowOf(event)
    const { page, params } = link ? match(link.pathname) : {}
    if (page !== 'request') return
    event.preventDefault()
    show(params.request)
  }
  useReturn(id)
  return { id, show, close, choose }
}

/** The link of the row that was clicked, or nothing if the click was on a link or button or ended a text selection. */
function rowOf({ target, button, ctrlKey, metaKey, shiftKey, altKey }) {
  if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey || getSelection().toString()) return null
  if (target.closest('a, button')) return null
  return target.closest('tbody tr')?.querySelector('a[href*="/requests/"]')
}

/** A text that identifies the current history entry: its place and its query, without the open request. */
function entryWithout() {
  const query = new URLSearchParams(location.search)
  query.delete('open')
  return `${history.state?.place} ${query}`
}

/** When the drawer has closed, focuses the row of the last open request, unless the user has left the list. */
function useReturn(id) {
  const before = useRef('')
  useLayoutEffect(() => {
    const last = before.current
    before.current = id
    if (id || !last) return
    // This waits until the browser has finished its step back.
    setTimeout(() => {
      history.scrollRestoration = 'auto'
    })
    const { activeElement: now } = document
    const row = rowLink(last)
    if (now !== document.body && (!now.closest(LIST) || now.href === row?.href)) return
    if (row) row.focus({ preventScroll: true })
    else focusHeading()
  }, [id])
}

/**
 * The drawer with the open request.
 * @param {{opened: object, project: object, list: object, rows: any[], names: Map<string, string>}} props
 *   opened: from useOpened; list: from useList; rows: its items in the order shown; names: of the project's API keys
 */
export function RequestDrawer({ opened: { id, show, close }, project, list, rows, names }) {
  const place = rows.findIndex(({ requestId }) => requestId === id)
  const request = useKept(rows[place], id)
  const step = (by) => {
    const next = place >= 0 && rows[place + by]
    if (!next) return
    show(next.requestId)
    rowLink(next.requestId)?.scrollIntoView({ block: 'nearest' })
  }
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const by = { j: 1, k: -1 }[event.key.toLowerCase()]
    if (by) step(by)
  }
  const stepper = (label, key, by) => html`<${Button} look="small" aria-keyshortcuts=${key} title=${`Key ${key}`}
    idle=${place < 0 || !rows[place + by]} onClick=${() => step(by)}>${label}<//>`
  const actions = html`${stepper('Previous', 'K', -1)}${stepper('Next', 'J', 1)}
    <${ButtonLink} look="small" href=${to('projects', project.id, 'requests', id)}>Open page<//>`
  return html`<${Drawer} title="Request" shows=${id} actions=${actions} onClose=${close} onKeyDown=${onKeyDown}>
    <p class="row-actions copyable"><${Id} id=${id} project=${project.id} /> <${CopyButton} text=${id} name="request ID" />
      ${place >= 0 && html`<span class="muted">${count(place + 1)} of ${count(rows.length)}${list.data.next && ' loaded'}</span>`}</p>
    <p class="visually-hidden" role="status">${request && summaryOf(request)}</p>
    <div class="loaded" key=${id}>${
      request
        ? html`<${Request} of=${request} project=${project} names=${names} />`
        : html`<${Unlisted} id=${id} list=${list} project=${project} names=${names} />`
    }</div>
  <//>`
}

/** The request's record, even after newer requests have pushed it out of the list. */
function useKept(listed, id) {
  const kept = useRef(undefined)
  if (listed || kept.current?.requestId !== id) kept.current = listed
  return kept.current
}

function summaryOf({ outcome, cause, time }) {
  return [outcomeWords(outcome), causeWords(cause), timestamp(time)].filter(Boolean).join(', ')
}

/** A request that is not in the list. While the list is loading, the request may still turn out to be in it. */
function Unlisted({ list, ...props }) {
  if (!list.data && !list.error) return html`<${Skeleton} label="Loading the request" />`
  return html`<${Fetched} ...${props} />`
}

function Fetched({ id, project, names }) {
  return html`<${FoundRequest} of=${useRequest(project, id)} id=${id} project=${project} names=${names} />`
}
