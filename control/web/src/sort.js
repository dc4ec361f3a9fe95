// The order of a table's rows. In the URL, the order is the column's name, with a leading "-" if the order is
// descending: sort=-cost.
import { useQuery } from './router.js'

const collator = new Intl.Collator('en-US', { numeric: true, sensitivity: 'base' })

/** The name of a column in the URL, such as cache-hit-rate. */
export function columnName(label) {
  return label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/** "ascending" or "descending" if the table is sorted by the column, else undefined. */
export function directionOf({ label, sort }, order) {
  const name = columnName(label)
  if (!sort || (order !== name && order !== `-${name}`)) return undefined
  return order === name ? 'ascending' : 'descending'
}

/**
 * The order after a click on a column's header. Clicks go through three orders: the column's first order, its
 * reverse, and the table's own order.
 */
export function nextOrder(column, order) {
  const name = columnName(column.label)
  const [first, second] = column.num ? [`-${name}`, name] : [name, `-${name}`]
  if (order === first) return second
  return order === second ? '' : first
}

const isEmpty = (value) => value === null || value === undefined || value === '' || Number.isNaN(value)

function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b))
}

/**
 * The rows in the given order. If the order does not name a column, or if rows have the same value, the original
 * order applies. Rows without a value come last in both directions.
 * @param {{label: string, sort?: (row: any) => any}[]} columns  sort: returns the value, a number or a string
 */
export function sorted(rows, columns, order) {
  const column = columns.find((one) => directionOf(one, order))
  if (!column) return rows
  const sign = order.startsWith('-') ? -1 : 1
  const valued = rows.map((row) => ({ row, value: column.sort(row) }))
  const [empty, full] = [valued.filter(({ value }) => isEmpty(value)), valued.filter(({ value }) => !isEmpty(value))]
  return [...full.sort((a, b) => sign * compare(a.value, b.value)), ...empty].map(({ row }) => row)
}

/** The order and onOrder properties for a Table. The order is stored in the query parameter with this name. */
export function useOrder(name = 'sort') {
  const [query, setQuery] = useQuery([name])
  return { order: query[name], onOrder: (order) => setQuery({ [name]: order }) }
}
