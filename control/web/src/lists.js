// Hooks for lists that the API returns in pages.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { get } from './api.js'
import { hold, isOutage, settle } from './outage.js'
import { useResource } from './resource.js'

const IDLE = { loading: false, error: undefined }

/** The maximum size of a page in the API. */
const MAX_PAGE = 100

/**
 * A paginated list: the items loaded so far, and loadMore for the next page. A reload gets as many items as were
 * shown. With filters, a page may be empty although more pages follow. Reading then continues until there is
 * something to show.
 * @param {string} to below /api/admin/
 * @param {string} field the response's field with the list
 * @param {object} query filters; after a change, reading starts again at the first page
 * @param {{timeOf?: (item: any) => string, all?: boolean}} [options]
 *   timeOf: returns the time by which the list is sorted, for "reached"; all: read every page
 * @returns {import('./resource.js').Resource<any> & {more: object, all: boolean, loadMore: () => Promise<void>, stop: () => void,
 *   reached: string | undefined}} reached: the time of the next unread item, even if the filters exclude it
 */
export function useList(to, field, query = {}, { timeOf, all = false } = {}) {
  const key = JSON.stringify([to, query])
  const shown = useRef({ key, items: 0 })
  const first = useResource(
    async (signal) => {
      const minItems = shown.current.key === key ? shown.current.items : 0
      let page = { items: [], next: undefined }
      do page = await nextPage(to, field, { query, signal, page, all })
      while (page.next && page.items.length < minItems)
      return page
    },
    [key],
  )
  if (!first.stale && first.data) shown.current = { key, items: first.data.items.length }
  const reading = useReading(first, { to, field, query, key, all })
  return { ...first, ...reading, all, reached: useReached(first, { to, field, query, timeOf }) }
}

/** Reads the second page and all later pages, one at a time. */
function useReading(first, { to, field, query, key, all }) {
  const [more, setMore] = useState({ key, ...IDLE })
  const running = useRef(null)
  const stop = () => {
    if (!running.current) return
    running.current.abort()
    running.current = null
    setMore({ key, ...IDLE })
  }
  const read = async ({ signal }) => {
    const before = first.data
    let page = before
    do {
      const longer = await nextPage(to, field, { query, signal, page, all })
      const last = page
      first.amend((now) => (now === last ? longer : now))
      page = longer
    } while (page.next && (all || page.items.length === before.items.length))
  }
  const loadMore = async () => {
    if (first.stale || running.current) return
    const controller = new AbortController()
    running.current = controller
    setMore({ key, loading: true, error: undefined })
    try {
      await read(controller)
      settle(resume)
      if (!controller.signal.aborted) setMore({ key, ...IDLE })
    } catch (error) {
      if (controller.signal.aborted) return
      setMore({ key, loading: false, error })
      if (isOutage(error)) hold(resume, error)
    } finally {
      if (running.current === controller) running.current = null
    }
  }
  const resume = useLatest(loadMore)
  // A reload or a change of filters starts reading again.
  useEffect(() => {
    if (first.data?.next && !first.stale && (all || first.data.items.length === 0)) void loadMore()
    return () => {
      stop()
      settle(resume)
    }
  }, [key, first.at, all])
  return { more: more.key === key ? more : IDLE, loadMore, stop }
}

/** A function that never changes and calls the latest version of another function. */
function useLatest(act) {
  const latest = useRef(act)
  latest.current = act
  return useCallback(() => latest.current(), [])
}

/**
 * How far a filtered list has been read. The cursor does not reveal a time, so the next item is requested without
 * filters, only for its time.
 */
function useReached(first, { to, field, query, timeOf }) {
  const filtered = Object.values(query).some((value) => value !== '' && value !== undefined)
  const after = timeOf && filtered && !first.stale && first.data?.next
  const { data } = useResource(
    async (signal) => {
      if (!after) return undefined
      const [item] = (await get(to, { query: { after, limit: 1 }, signal }))[field]
      return item && timeOf(item)
    },
    [to, after],
  )
  return after ? data : undefined
}

/** All items of a list that have arrived so far. */
export function useAll(to, field, query = {}) {
  return useList(to, field, query, { all: true }).data?.items ?? []
}

/**
 * The list so far, extended by its next page. "last" is the last response, for its other fields. The field "more" of
 * a response names things that are only partly in the list. "cut" has the names from all responses.
 */
async function nextPage(to, field, { query, signal, page, all }) {
  const size = all ? { limit: MAX_PAGE } : {}
  const after = page.next ? { after: page.next } : {}
  const response = await get(to, { query: { ...size, ...query, ...after }, signal })
  const cut = [...(page.cut ?? []), ...(response.more ?? [])]
  return { items: [...page.items, ...response[field]], next: response.next, last: response, cut }
}
