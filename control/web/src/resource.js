// Hooks for loading data and running actions, with their states.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { get } from './api.js'
import { hold, isOutage, settle } from './outage.js'
import { useSession } from './session.js'

/**
 * @template T
 * @typedef {{data: T | undefined, error: Error | undefined, loading: boolean, stale: boolean, at: number,
 *   reload: () => void, set: (data: T) => void, amend: (change: (data: T) => T) => void}} Resource
 *   stale: the data belongs to previous deps; at: when the data was loaded, in ms; set: replaces the data with a newer
 *   version and drops any load in flight; amend: changes the data without affecting a load in flight
 */

/**
 * Loads when mounted, when deps change, and after the user has signed in again. The previous data stays until the new
 * data arrives. A load that fails because of an outage is repeated until it succeeds; see outage.js.
 * @param {(signal: AbortSignal) => Promise<any>} load
 * @returns {Resource<any>}
 */
export function useResource(load, deps) {
  const key = JSON.stringify(deps)
  const [state, setState] = useState({ data: undefined, error: undefined, loading: true, at: 0, key, requested: key })
  const [reloads, setReloads] = useState(0)
  const { renewals } = useSession()
  const inFlight = useRef(null)
  const latest = useRef(key)
  latest.current = key
  const reload = useCallback(() => setReloads((n) => n + 1), [])
  useEffect(() => () => settle(reload), [])
  useEffect(() => {
    const controller = new AbortController()
    inFlight.current = controller
    setState((before) => ({
      ...before,
      error: before.requested === key ? before.error : undefined,
      loading: true,
      requested: key,
    }))
    const succeed = (data) => {
      setState(loaded(data, key))
      settle(reload)
    }
    const fail = (error) => {
      setState((before) => ({ ...before, error, loading: false }))
      if (isOutage(error)) hold(reload, error)
      else settle(reload)
    }
    load(controller.signal).then(
      (data) => controller.signal.aborted || succeed(data),
      (error) => controller.signal.aborted || fail(error),
    )
    return () => controller.abort()
  }, [key, reloads, renewals])
  const set = useCallback((data) => {
    inFlight.current?.abort()
    settle(reload)
    setState(loaded(data, latest.current))
  }, [])
  const amend = useCallback((change) => setState((before) => ({ ...before, data: change(before.data) })), [])
  return { ...state, stale: state.key !== key, reload, set, amend }
}

function loaded(data, key) {
  return { data, error: undefined, loading: false, at: Date.now(), key, requested: key }
}

/** Two resources combined into one, for the component Refresh. */
export function useBoth(first, second) {
  const reload = useCallback(() => {
    first.reload()
    second.reload()
  }, [first.reload, second.reload])
  return { at: Math.min(first.at, second.at), loading: first.loading || second.loading, reload }
}

/** An action that a button runs, with its state: whether it is running, and the error of the last run. */
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
  // Signing in again makes the error of a 401 obsolete.
  const resolved = state.error?.status === 401 && state.renewals !== renewals
  return { ...state, error: resolved ? undefined : state.error, run, clear }
}

/**
 * A copy of a value. The copy is updated when the value has not changed for ms milliseconds. Searches use the copy
 * while the user types.
 */
export function useDebounced(value, ms = 250) {
  const [debounced, setDebounced] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return debounced
}

let catalog

/** The catalog: plans, tiers and models. It is loaded only once, because only a new deployment changes it. */
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
