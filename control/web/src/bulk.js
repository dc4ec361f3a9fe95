// Runs one action on several records, with one request for each.

/**
 * Runs an action on rows until all rows are done, the run is stopped, or the session ends. After any other error, it
 * continues with the next row.
 * @template Row
 * @param {Row[]} rows
 * @param {(row: Row) => Promise<any>} act
 * @param {{atOnce?: number, signal?: AbortSignal, onProgress?: (settled: number) => void}} [options]
 *   signal: once it is aborted, no further request starts; requests in flight still finish, so their outcome is known
 * @returns {Promise<{done: Row[], failed: {row: Row, error: Error}[], left: Row[]}>} each list is in the order of the rows; left: rows not tried
 */
export async function runAll(rows, act, { atOnce = 1, signal, onProgress } = {}) {
  const outcomes = new Map()
  const queue = [...rows]
  let ended = false
  const work = async () => {
    while (queue.length > 0 && !ended && !signal?.aborted) {
      const row = queue.shift()
      const error = await act(row).then(
        () => undefined,
        (cause) => cause,
      )
      if (error?.status === 401) ended = true
      outcomes.set(row, { row, error })
      onProgress?.(outcomes.size)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const tried = rows.filter((row) => outcomes.has(row)).map((row) => outcomes.get(row))
  return {
    done: tried.filter(({ error }) => !error).map(({ row }) => row),
    failed: tried.filter(({ error }) => error),
    left: rows.filter((row) => !outcomes.has(row)),
  }
}
