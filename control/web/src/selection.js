// The selected rows of a list. Only rows that are shown can be selected, so an action never affects a hidden row.
import { useEffect, useState } from 'preact/hooks'

const NONE = new Set()

function without(ids, some) {
  const gone = new Set(some)
  return [...ids].filter((id) => !gone.has(id))
}

/**
 * The selected rows among a list's loaded rows. The selection survives sorting and loading more pages. A different
 * query clears it.
 * @param {object} list the result of useList
 * @param {object} query the query of the list
 * @returns {{rows: any[], ids: Set<string>, has: (id: string) => boolean, pick: (ids: string[], on: boolean) => void,
 *   keep: (ids: string[]) => void}} rows: the selected rows; pick: selects rows or clears them; keep: selects only the given rows
 */
export function useSelection({ data, stale }, query) {
  const key = JSON.stringify(query)
  const [state, setState] = useState({ key, ids: NONE })
  useEffect(() => setState({ key, ids: NONE }), [key])
  const chosen = state.key === key ? state.ids : NONE
  const rows = stale ? [] : (data?.items ?? []).filter(({ id }) => chosen.has(id))
  const ids = new Set(rows.map(({ id }) => id))
  const change = (next) => setState((before) => ({ key, ids: new Set(next(before.key === key ? before.ids : NONE)) }))
  return {
    rows,
    ids,
    has: (id) => ids.has(id),
    pick: (some, on) => change((before) => [...without(before, some), ...(on ? some : [])]),
    keep: (some) => change(() => some),
  }
}
