// Loading: what a page asks for, with its states.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { get } from './api.js'
import { useSession } from './session.js'

/**
 * @template T
 * @typedef {{data: T | undefined, error: Error | undefined, loading: boolean, stale: boolean, at: number,
 *   reload: () => void, set: (data: T) => void, amend: (change: (data: T) => T) => void}} Resource
 *   stale: the data belong to what was asked for before; at: when the data came, ms; set: what is known better
 *   than from any answer under way, which is dropped; amend: changes what is there, whatever is under way
 */

/**
 * Loads at once, when deps change, and when somebody has signed in again; what came before stays until then.
 * @param {(signal: AbortSignal) => Promise<any>} load
 * @returns {Resource<any>}
 */
export function useResource(load, deps) {
  const of = JSON.stringify(deps)
  const [state, setState] = useState({ data: undefined, error: undefined, loading: true, at: 0, of, asked: of })
  const [turn, setTurn] = useState(0)
  const { renewals } = useSession()
  const running = useRef(null)
  const wanted = useRef(of)
  wanted.current = of
  useEffect(() => {
    const controller = new AbortController()
    running.current = controller
    setState((before) => ({
      ...before,
      error: before.asked === of ? before.error : undefined,
      loading: true,
      asked: of,
    }))
    load(controller.signal).then(
      (data) => controller.signal.aborted || setState(loaded(data, of)),
      (error) => controller.signal.aborted || setState((before) => ({ ...before, error, loading: false })),
    )
    return () => controller.abort()
  }, [of, turn, renewals])
  const reload = useCallback(() => setTurn((n) => n + 1), [])
  const set = useCallback((data) => {
    running.current?.abort()
    setState(loaded(data, wanted.current))
  }, [])
  const amend = useCallback((change) => setState((before) => ({ ...before, data: change(before.data) })), [])
  return { ...state, stale: state.of !== of, reload, set, amend }
}

function loaded(data, of) {
  return { data, error: undefined, loading: false, at: Date.now(), of, asked: of }
}

const NOTHING_MORE = { loading: false, error: undefined }

/**
 * A list that comes in pages: items so far, and a function that asks for more. Loaded again, it has as many
 * items as were shown.
 * @param {string} to below /api/admin/
 * @param {string} field where the answer has its list
 * @param {object} query filters; a change starts anew
 */
export function useList(to, field, query = {}) {
  const key = JSON.stringify([to, query])
  const shown = useRef({ key, items: 0 })
  const first = useResource(
    async (signal) => {
      const wanted = shown.current.key === key ? shown.current.items : 0
      let page = { items: [], next: undefined }
      do page = await nextPage(to, field, { query, signal, page })
      while (page.next && page.items.length < wanted)
      return page
    },
    [key],
  )
  if (!first.stale && first.data) shown.current = { key, items: first.data.items.length }
  const [more, setMore] = useState({ key, ...NOTHING_MORE })
  const loadMore = async () => {
    if (first.stale) return
    const page = first.data
    setMore({ key, loading: true, error: undefined })
    try {
      const longer = await nextPage(to, field, { query, page })
      // What was loaded anew meanwhile has its own end.
      first.amend((now) => (now === page ? longer : now))
      setMore({ key, ...NOTHING_MORE })
    } catch (error) {
      setMore({ key, loading: false, error })
    }
  }
  return { ...first, more: more.key === key ? more : NOTHING_MORE, loadMore }
}

/** What there is of a list, with one page more. */
async function nextPage(to, field, { query, signal, page }) {
  const after = page.next ? { after: page.next } : {}
  const answer = await get(to, { query: { ...query, ...after }, signal })
  return { items: [...page.items, ...answer[field]], next: answer.next }
}

/** Something that a button does: whether it is at it, and what went wrong. */
export function useAction(act) {
  const { renewals } = useSession()
  const [state, setState] = useState({ busy: false, error: undefined })
  const run = async (...args) => {
    setState({ busy: true, error: undefined })
    try {
      const result = await act(...args)
      setState({ busy: false, error: undefined })
      return result
    } catch (error) {
      setState({ busy: false, error, renewals })
      return undefined
    }
  }
  const clear = () => setState({ busy: false, error: undefined })
  // That nobody was signed in is mended when somebody is.
  const over = state.error?.status === 401 && state.renewals !== renewals
  return { ...state, error: over ? undefined : state.error, run, clear }
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
