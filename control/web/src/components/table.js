// Tables, shown as lists of cards on narrow screens. The ARIA roles are explicit because CSS that changes a table's
// display removes the implicit ones.

import { count } from '../format.js'
import { html } from '../html.js'
import { Button } from './button.js'
import { Failure } from './states.js'

/**
 * @param {{caption: string, columns: {label: string, cell: (row: any) => any, num?: boolean, head?: boolean}[],
 *   rows: any[], rowKey: (row: any, index: number) => string, showCaption?: boolean}} props
 *   num: right-aligned; head: the cell is its row's header
 */
export function Table({ caption, columns, rows, rowKey, showCaption = false }) {
  return html`<div class="table-frame">
    <table role="table" class="cards">
      <caption class=${showCaption ? '' : 'visually-hidden'}>${caption}</caption>
      <thead role="rowgroup">
        <tr role="row">${columns.map((column) => html`<${HeadCell} column=${column} key=${column.label} />`)}</tr>
      </thead>
      <tbody role="rowgroup">${rows.map((row, i) => html`<${Row} columns=${columns} row=${row} key=${rowKey(row, i)} />`)}</tbody>
    </table>
  </div>`
}

function HeadCell({ column }) {
  const name = column.hidden ? html`<span class="visually-hidden">${column.label}</span>` : column.label
  return html`<th role="columnheader" scope="col" class=${column.num ? 'num' : ''}>${name}</th>`
}

function Row({ columns, row }) {
  return html`<tr role="row">${columns.map((column) => {
    const looks = `${column.num ? 'num' : ''} ${column.wide ? 'wide' : ''}`
    const content = html`<span class="cell">${column.cell(row)}</span>`
    const label = column.hidden ? '' : column.label
    return column.head
      ? html`<th role="rowheader" scope="row" class=${looks} data-label=${label} key=${column.label}>${content}</th>`
      : html`<td role="cell" class=${looks} data-label=${label} key=${column.label}>${content}</td>`
  })}</tr>`
}

/** The number of loaded items, and a button that loads the next page. */
export function More({ list, noun, nouns = `${noun}s` }) {
  const { items, next } = list.data
  return html`<div class="more">
    <span role="status" class="muted">${count(items.length)} ${items.length === 1 ? noun : nouns}${
      next ? ' loaded' : ''
    }</span>
    ${list.more.error && html`<${Failure} error=${list.more.error} what=${`more ${nouns}`} />`}
    ${next && html`<${Button} busy=${list.more.loading} onClick=${list.loadMore}>Show more<//>`}
  </div>`
}

/** A list of names and values. @param {{rows: [string, any][]}} props */
export function Facts({ rows }) {
  return html`<dl class="fact-list">${rows.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`
}
