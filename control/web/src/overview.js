// The state of a deployment according to the overview of all projects.
import { count, percent, plural } from './format.js'
import { matchesWords } from './palette/query.js'
import { NO_FIGURES } from './usage.js'

/** The shares of failed requests at which a deployment deserves attention (warn) or is in trouble (bad). */
const FAILED_WARN = 0.01
const FAILED_BAD = 0.05

/**
 * The parts of the state strip: name, value, note and look. Most parts also have the order of the projects or the
 * page that shows more.
 * @param {object} data the response of GET …/overview
 * @returns {{name: string, value: string, note: string, look: 'good' | 'warn' | 'bad', sort?: string, page?: string, query?: object}[]}
 */
export function stateOf({ status, totals }) {
  return [
    serving(totals),
    failing(status.failingProviders),
    budgets(status),
    refusals(status.refusals),
    violations(status.openViolations),
    unknownKeys(status),
  ]
}

function serving({ requests, outcomes }) {
  const share = requests > 0 ? outcomes.failed / requests : 0
  return {
    name: 'Serving',
    value: percent(outcomes.served, requests),
    note: requests > 0 ? `of ${plural(requests, 'request')}; ${count(outcomes.failed)} failed` : 'no requests',
    look: share >= FAILED_BAD ? 'bad' : share >= FAILED_WARN ? 'warn' : 'good',
    sort: '-failed',
  }
}

function failing(providers) {
  return {
    name: 'Providers failing',
    value: count(providers.length),
    note: providers.length > 0 ? providers.map(({ provider }) => provider).join(', ') : 'in the last 10 to 20 minutes',
    look: providers.length > 0 ? 'bad' : 'good',
    page: 'providers',
  }
}

function budgets({ budgetsOver80, budgetsSpent }) {
  return {
    name: 'Budgets over 80%',
    value: count(budgetsOver80),
    note: budgetsSpent > 0 ? `${count(budgetsSpent)} used up` : 'none used up',
    look: budgetsSpent > 0 ? 'bad' : budgetsOver80 > 0 ? 'warn' : 'good',
    sort: '-budget-used',
  }
}

function refusals({ lastHour, hourBefore, rising }) {
  return {
    name: rising ? 'Refusals rising' : 'Refusals',
    value: count(lastHour),
    note: `this hour; ${count(hourBefore)} in the hour before`,
    look: rising ? 'warn' : 'good',
    sort: '-refused',
  }
}

function violations(open) {
  return {
    name: 'Open violations',
    value: count(open),
    note: 'of the Governor’s rules',
    look: open > 0 ? 'warn' : 'good',
    page: 'violations',
    query: { state: 'open', range: 'all' },
  }
}

function unknownKeys({ unknownKeys: number, unassigned }) {
  const others = unassigned > 0 ? `; ${plural(unassigned, 'other request')} without a known key` : ''
  return {
    name: 'Unknown keys',
    value: count(number),
    note: `refused with 401, in no project’s figures${others}`,
    look: number > 0 ? 'warn' : 'good',
  }
}

/** An overview with the next page of its projects. */
export const withPage = (data, page) => ({ ...data, projects: [...data.projects, ...page.projects], next: page.next })

/** The projects whose names contain all words of a text. */
export function named(projects, text) {
  return projects.filter(({ name, projectId }) => matchesWords(name ?? projectId, text.trim()))
}

export function topProjects(projects, number) {
  return projects
    .filter(({ requests }) => requests > 0)
    .sort((a, b) => b.cost - a.cost || b.requests - a.requests)
    .slice(0, number)
}

/**
 * The providers in the catalog with their recorded figures, followed by recorded providers that are no longer in the
 * catalog.
 * @param {{name: string}[]} catalog the providers from GET …/providers
 * @param {{provider: string}[]} recorded the providers from GET …/overview
 */
export function joined(catalog, recorded) {
  const names = new Set(catalog.map(({ name }) => name))
  const of = (provider) => recorded.find((row) => row.provider === provider) ?? { ...IDLE, provider }
  return [
    ...catalog.map(({ name, wires, ready }) => ({ ...of(name), wires, ready })),
    ...recorded.filter(({ provider }) => !names.has(provider)),
  ]
}

/** The figures of a provider that was not called. */
const IDLE = {
  state: 'idle',
  recent: { attempts: 0, failed: 0, opened: 0 },
  attempts: NO_FIGURES.attempts,
  latency: null,
  timeToFirstToken: null,
  requests: 0,
  cost: 0,
}
