// Loading: what a page asks for, with its states.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { get } from './api.js'

/**
 * @template T
 * @typedef {{data: T | undefined, error: Error | undefined, loading: boolean, at: number,
 *   reload: () => void, set: (data: T) => void}} Resource  at: when the data came, ms
 */

/**
 * Loads at once and when deps change; what came before stays until then.
 * @param {(signal: AbortSignal) => Promise<any>} load
 * @returns {Resource<any>}
 */
export function useResource(load, deps) {
  const [state, setState] = useState({ data: undefined, error: undefined, loading: true, at: 0 })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    setState((before) => ({ ...before, loading: true }))
    load(controller.signal).then(
      (data) => controller.signal.aborted || setState({ data, error: undefined, loading: false, at: Date.now() }),
      (error) => controller.signal.aborted || setState((before) => ({ ...before, error, loading: false })),
    )
    return () => controller.abort()
  }, [...deps, turn])
  const reload = useCallback(() => setTurn((n) => n + 1), [])
  const set = useCallback((data) => setState({ data, error: undefined, loading: false, at: Date.now() }), [])
  return { ...state, reload, set }
}

/**
 * A list that comes in pages: items so far, and a function that asks for more.
 * @param {string} to below /api/admin/
 * @param {string} field where the answer has its list
 * @param {object} query filters; a change starts anew
 */
export function useList(to, field, query = {}) {
  const key = JSON.stringify([to, query])
  const first = useResource(
    async (signal) => {
      const page = await get(to, { query, signal })
      return { key, items: page[field], next: page.next }
    },
    [key],
  )
  const [more, setMore] = useState({ loading: false, error: undefined })
  const current = useRef(key)
  current.current = key
  const loadMore = async () => {
    setMore({ loading: true, error: undefined })
    try {
      const page = await get(to, { query: { ...query, after: first.data.next } })
      if (current.current !== key) return
      first.set({ key, items: [...first.data.items, ...page[field]], next: page.next })
      setMore({ loading: false, error: undefined })
    } catch (error) {
      setMore({ loading: false, error })
    }
  }
  return { ...first, more, loadMore }
}

/** Something that a button does: whether it is at it, and what went wrong. */
export function useAction(act) {
  const [state, setState] = useState({ busy: false, error: undefined })
  const run = async (...args) => {
    setState({ busy: true, error: undefined })
    try {
      const result = await act(...args)
      setState({ busy: false, error: undefined })
      return result
    } catch (error) {
      setState({ busy: false, error })
      return undefined
    }
  }
  const clear = () => setState({ busy: false, error: undefined })
  return { ...state, run, clear }
}

/** A value that follows another once it has rested, for searches while somebody types. */
export function useRested(value, ms = 250) {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested
}

let catalog

/** The catalog: plans, tiers, models. It is the same until the next deployment, so it is asked for once. */
export function useCatalog() {
  const resource = useResource(async () => {
    catalog ??= get('catalog').catch((error) => {
      catalog = undefined
      throw error
    })
    return await catalog
  }, [])
  return resource
}
