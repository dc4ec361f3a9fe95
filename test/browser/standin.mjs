// Responses that replace reports of the admin API, for states that a test cannot create: GET …/overview of a
// deployment in trouble.
import { PROJECTS, projectName } from './crowd.mjs'

const HOUR_MS = 3_600_000
const FAILED = { busy: 0, rejected: 0, unavailable: 0, timeout: 0, connection: 0, cut: 0, unusable: 0, broken: 0 }

/** Figures for a number of requests, some of which were refused and some of which failed. */
export function figures({ requests = 0, refused = 0, failed = 0, cost = 0, rescued = 0, opened = 0 } = {}) {
  const speed = requests > 0 ? { meanMs: 420, p50Ms: 330, p90Ms: 900, p95Ms: 1200, p99Ms: 2500 } : null
  return {
    requests,
    hits: 0,
    misses: requests,
    failed,
    promptTokens: 100 * requests,
    completionTokens: 50 * requests,
    cost,
    estimated: 0,
    expired: 0,
    latency: speed,
    timeToFirstToken: speed,
    promptCache: { readTokens: 0, writeTokens: 0, saved: 0 },
    attempts: { total: requests + failed, failed: { ...FAILED, unavailable: failed }, rescued, opened },
    outcomes: { served: requests - refused - failed, refused, failed, left: 0, causes: {} },
  }
}

/** The start of the hour that was current the given number of hours ago. */
const hourAgo = (now, hours) => new Date(Math.floor(now / HOUR_MS - hours) * HOUR_MS).toISOString()

/**
 * A project of the overview. The lower its number, the more it spent. Every tenth project has nearly used up its
 * budget.
 */
function projectRow(i, now, id) {
  const requests = i % 5 === 4 ? 0 : PROJECTS - i
  const limit = 10
  const used = i % 10 === 0 ? 9.5 : i / 100
  return {
    projectId: id(i),
    name: projectName(i),
    active: i % 50 !== 49,
    budget: { limit, used, period: 'month', end: '2026-12-01T00:00:00.000Z' },
    forecast: i % 10 === 0 ? 12.5 : i % 3 === 0 ? null : used,
    openViolations: i === 7 ? 4 : 0,
    reportedAt: requests > 0 ? new Date(now - 20_000 - i * 1000).toISOString() : null,
    spark: Array.from({ length: 24 }, (_, j) => (requests > 0 ? (i + j) % 7 : 0)),
    ...figures({ requests, refused: i % 4, failed: i % 3, cost: requests / 100 }),
  }
}

/** A report of 200 projects with names of 120 characters, a failing provider and rising refusals. */
export function overviewInTrouble({ range = '24h', now = Date.now(), id = (i) => `proj_${i}` } = {}) {
  const times = Array.from({ length: 24 }, (_, i) => hourAgo(now, 23 - i))
  const provider = (name, state, of, recent) => ({ provider: name, ...figures(of), recent, state })
  return {
    range,
    from: times[0],
    to: new Date(Date.parse(times[23]) + HOUR_MS).toISOString(),
    step: 'hour',
    asOf: new Date(now - 20_000).toISOString(),
    status: {
      failingProviders: [{ provider: 'openai', attempts: 40, failed: 31, opened: 2 }],
      budgetsOver80: 20,
      budgetsSpent: 1,
      refusals: { lastHour: 120, hourBefore: 20, rising: true },
      openViolations: 4,
      unknownKeys: 17,
      unassigned: 3,
    },
    totals: figures({ requests: 1000, refused: 100, failed: 50, cost: 12.5 }),
    before: figures({ requests: 800, refused: 100, failed: 10, cost: 10 }),
    series: times.map((time, i) => ({ time, requests: 40 + i, served: 36, refused: i, failed: 4, left: 0, cost: 0.5 })),
    projects: Array.from({ length: PROJECTS }, (_, i) => projectRow(i, now, id)),
    keys: [
      {
        projectId: id(0),
        projectName: projectName(0),
        keyId: 'key_1',
        keyName: 'Backend',
        requests: 90,
        failed: 2,
        refused: 1,
        cost: 0.9,
      },
      {
        projectId: id(1),
        projectName: projectName(1),
        keyId: 'key_2',
        keyName: null,
        requests: 80,
        failed: 0,
        refused: 0,
        cost: 0.8,
      },
    ],
    models: [{ model: 'nickel', provider: 'openai', ...figures({ requests: 500, cost: 5 }) }],
    providers: [
      provider(
        'anthropic',
        'healthy',
        { requests: 300, failed: 3, rescued: 12, cost: 4 },
        { attempts: 30, failed: 0, opened: 0 },
      ),
      provider(
        'openai',
        'failing',
        { requests: 500, failed: 47, opened: 2, cost: 5 },
        { attempts: 40, failed: 31, opened: 2 },
      ),
      provider('bygone', 'idle', { requests: 9 }, { attempts: 0, failed: 0, opened: 0 }),
    ],
  }
}
