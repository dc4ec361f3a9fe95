// Helpers for the usage report of GET …/usage.

/** The figures of a step without requests. */
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
  timeToFirstToken: null,
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
 * One row for every step of a range that has begun. The report omits steps without usage, but the result contains
 * them.
 * @param {{slots: number[], step: string}} span
 * @param {object[]} rows rows with the time of a step in the field "minute", "hour" or "day"
 */
export function series({ slots, step }, rows, now = Date.now()) {
  const at = new Map(rows.map((row) => [Date.parse(row[step]), row]))
  return slots.filter((slot) => slot <= now).map((time) => ({ ...(at.get(time) ?? NO_FIGURES), time }))
}

export const share = (part, whole) => (whole > 0 ? (part / whole) * 100 : null)

/** The URL of the usage report as a file. @param {object} query the report's query, including "by" */
export function downloadHref(projectId, query, format) {
  return `/api/admin/projects/${encodeURIComponent(projectId)}/usage?${new URLSearchParams({ ...query, format })}`
}

/** The used part of the budget in percent, at most 100. For a budget of 0, the result is 100. */
export function budgetShare({ limit, used }) {
  if (limit <= 0) return 100
  return Math.min(100, (used / limit) * 100)
}
