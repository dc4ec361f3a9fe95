// Tables, shown as lists of cards on narrow screens. ARIA roles are explicit, because CSS that changes a table's
// display removes the implicit ones.
import { useEffect, useRef, useState } from 'preact/hooks'
import { count, timestamp } from '../format.js'
import { html } from '../html.js'
import { directionOf, nextOrder, sorted } from '../sort.js'
import { zoned, zoneWords } from '../zone.js'
import { Button } from './button.js'
import { PickAll, PickOne } from './picks.js'
import { Failure, shownElsewhere } from './states.js'

/**
 * The first column and the column of actions stay in view while the others scroll sideways.
 * @param {{caption: string, columns: {label: string, cell: (row: any) => any, num?: boolean, head?: boolean, title?: string,
 *   actions?: boolean, time?: boolean, sort?: (row: any) => any}[], order?: string, onOrder?: (order: string) => void, rows: any[], rowKey: (row: any, index: number) => string,
 *   showCaption?: boolean, picks?: object, current?: string}} props
 *   num: right-aligned; head: the cell is the row's header; actions: the last column, with the row's buttons; title: what
 *   the column means; time: the values are times, so the header names the zone;
 *   sort: the value by which the header sorts the rows if the table has order and onOrder, both from useOrder;
 *   picks: from useSelection, plus nameOf, which names each row's checkbox. The keys of the rows are their IDs;
 *   current: the key of the row that is shown elsewhere on the page
 */
export function Table({ caption, columns, rows, rowKey, order, onOrder, picks, current, showCaption = false }) {
  const frame = useRef(null)
  const scrolls = useOverflow(frame)
  const scrolling = scrolls && { tabindex: '0', role: 'group', 'aria-label': `${caption}, scrolls sideways` }
  return html`<div class=${`table-frame ${scrolls ? 'scrolls' : ''}`} ref=${frame} ...${scrolling}>
    <table role="table" class=${`cards ${onOrder ? 'sortable' : ''}`}>
      <caption class=${showCaption ? '' : 'visually-hidden'}>${caption}</caption>
      <thead role="rowgroup">
        <tr role="row">${picks && html`<${PickAll} picks=${picks} ids=${rows.map(rowKey)} />`}${columns.map((column) => html`<${HeadCell} column=${column} order=${order} onOrder=${onOrder} key=${column.label} />`)}</tr>
      </thead>
      <tbody role="rowgroup">${sorted(rows, columns, order).map((row, i) => html`<${Row} columns=${columns} row=${row} picks=${picks} id=${rowKey(row, i)} current=${current} key=${rowKey(row, i)} />`)}</tbody>
    </table>
  </div>`
}

/**
 * Whether a frame's content is wider than the frame. Only a frame with wider content can be focused, so that the
 * arrow keys scroll it.
 */
function useOverflow(frame) {
  const [scrolls, setScrolls] = useState(false)
  useEffect(() => {
    const { current } = frame
    const observer = new ResizeObserver(() => setScrolls(current.scrollWidth > current.clientWidth))
    observer.observe(current)
    observer.observe(current.firstElementChild)
    return () => observer.disconnect()
  }, [])
  return scrolls
}

const looksOf = ({ num, actions }) => [num && 'num', actions && 'actions'].filter(Boolean).join(' ')

const headerOf = ({ label, time }) => (time ? zoned(label) : label)

const ARROWS = { ascending: '▲', descending: '▼' }

function HeadCell({ column, order, onOrder }) {
  const direction = onOrder && directionOf(column, order)
  const label =
    onOrder && column.sort
      ? html`<button type="button" class="sort" onClick=${() => onOrder(nextOrder(column, order))}>${headerOf(column)}<span
          aria-hidden="true">${ARROWS[direction] ?? '↕'}</span></button>`
      : headerOf(column)
  return html`<th role="columnheader" scope="col" class=${looksOf(column)} title=${column.title} aria-sort=${direction}>${label}</th>`
}

function Row({ columns, row, picks, id, current }) {
  const pick = picks && html`<${PickOne} picks=${picks} id=${id} name=${picks.nameOf(row)} />`
  return html`<tr role="row" class=${picks?.has(id) ? 'picked' : ''} aria-current=${id === current ? 'true' : undefined}>${pick}${columns.map(
    (column) => {
      const content = html`<span class="cell">${column.cell(row)}</span>`
      const label = headerOf(column)
      return column.head
        ? html`<th role="rowheader" scope="row" class=${looksOf(column)} data-label=${label} key=${label}>${content}</th>`
        : html`<td role="cell" class=${looksOf(column)} data-label=${label} key=${label}>${content}</td>`
    },
  )}</tr>`
}

/**
 * The table of a list's items, with the number of items and how much has been read. If the list turns out to be
 * empty, "none" is shown instead.
 * @param {{list: object, noun: string, nouns?: string, none: any, children: any}} props  list: from useList
 */
export function Listed({ list, noun, nouns = `${noun}s`, none, children }) {
  const { items, next } = list.data
  if (items.length === 0 && !next) return none
  return html`${items.length > 0 && children}<${More} list=${list} noun=${noun} nouns=${nouns} />`
}

/** The number of loaded items and a button that loads the next page. */
export function More({ list, noun, nouns = `${noun}s` }) {
  const { next } = list.data
  const { loading, error } = list.more
  return html`<div class="more">
    <span role="status" class="muted">${progressOf(list, noun, nouns)}</span>
    ${error && !shownElsewhere(error) && html`<${Failure} error=${error} what=${`more ${nouns}`} />`}
    ${loading && html`<${Button} onClick=${list.stop}>Stop<//>`}
    ${next && html`<${Button} busy=${loading} onClick=${list.loadMore}>Show more<//>`}
  </div>`
}

function progressOf({ data: { items, next }, more, reached, all }, noun, nouns) {
  const found = `${items.length === 0 ? 'No' : count(items.length)} ${items.length === 1 ? noun : nouns}`
  if (!next) return found
  const back = reached ? `, looked back to ${timestamp(reached)} ${zoneWords()}` : ''
  if (items.length > 0) return `${found} loaded${back}${all && !more.loading ? ', and only these sorted' : ''}`
  return `${found} so far${back}${more.loading ? '. Reading on…' : ''}`
}

/** A list of names and values. @param {{rows: [string, any][]}} props */
export function Facts({ rows }) {
  return html`<dl class="fact-list">${rows.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`
}
