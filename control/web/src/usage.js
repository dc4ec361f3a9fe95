// Helpers for the usage report of GET …/usage.

/** The figures of a slot without requests. */
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
  promptCache: { readTokens: 0, writeTokens: 0, saved: 0 },
  attempts: {
    total: 0,
    failed: { busy: 0, rejected: 0, unavailable: 0, timeout: 0, connection: 0, cut: 0, unusable: 0, broken: 0 },
    rescued: 0,
    opened: 0,
  },
  outcomes: { served: 0, refused: 0, failed: 0, left: 0, causes: {} },
}

/**
 * One row for every slot of the period that has begun, including slots without usage, which the report omits.
 * @param {{slots: number[], by: string}} period
 * @param {object[]} rows with "day" or "hour"
 */
export function series(period, rows, now = Date.now()) {
  const at = new Map(rows.map((row) => [Date.parse(row[period.by]), row]))
  return period.slots.filter((slot) => slot <= now).map((time) => ({ time, ...(at.get(time) ?? NO_FIGURES) }))
}

export const share = (part, whole) => (whole > 0 ? (part / whole) * 100 : null)

/** The URL of the usage report as a file. */
export function downloadHref(projectId, { from, to, by }, format) {
  const query = new URLSearchParams({ from, to, by, format })
  return `/api/admin/projects/${encodeURIComponent(projectId)}/usage?${query}`
}

/** The used part of the budget in percent, at most 100; an empty budget counts as 100. */
export function budgetShare({ limit, used }) {
  if (limit <= 0) return 100
  return Math.min(100, (used / limit) * 100)
}
