// What GET …/usage says, put in the order of a chart.

/** The figures of a slot in which nothing happened. */
export const NO_FIGURES = {
  requests: 0,
  hits: 0,
  misses: 0,
  failed: 0,
  promptTokens: 0,
  completionTokens: 0,
  cost: 0,
  estimated: 0,
  expired: 0,
  latency: null,
}

/**
 * One row for every slot of the period that has begun; those that the answer leaves out are zero.
 * @param {{slots: number[], by: string}} period
 * @param {object[]} rows with "day" or "hour"
 */
export function series(period, rows, now = Date.now()) {
  const at = new Map(rows.map((row) => [Date.parse(row[period.by]), row]))
  return period.slots.filter((slot) => slot <= now).map((time) => ({ time, ...(at.get(time) ?? NO_FIGURES) }))
}

export const share = (part, whole) => (whole > 0 ? (part / whole) * 100 : null)

/** Where the usage can be loaded as a file. */
export function downloadHref(projectId, { from, to, by }, format) {
  const query = new URLSearchParams({ from, to, by, format })
  return `/api/admin/projects/${encodeURIComponent(projectId)}/usage?${query}`
}

/** Of the budget, in percent, at most 100; a budget of nothing is used up. */
export function budgetShare({ limit, used }) {
  if (limit <= 0) return 100
  return Math.min(100, (used / limit) * 100)
}
