import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failuresWords, inOrder } from '../src/components/providers.js'
import { pointsOf } from '../src/components/spark.js'
import { wasBefore } from '../src/components/tiles.js'
import { money } from '../src/format.js'
import { joined, named, stateOf, topProjects } from '../src/overview.js'
import { NO_FIGURES } from '../src/usage.js'

const QUIET = {
  failingProviders: [],
  budgetsOver80: 0,
  budgetsSpent: 0,
  refusals: { lastHour: 0, hourBefore: 0, rising: false },
  openViolations: 0,
  unknownKeys: 0,
  unassigned: 0,
}

const totals = (requests, failed) => ({
  ...NO_FIGURES,
  requests,
  outcomes: { ...NO_FIGURES.outcomes, served: requests - failed, failed },
})
const looks = (status, figures = totals(100, 0)) =>
  Object.fromEntries(
    stateOf({ status: { ...QUIET, ...status }, totals: figures }).map(({ name, look }) => [name, look]),
  )

test('a quiet deployment is good in all parts, with or without traffic', () => {
  for (const requests of [0, 100]) {
    assert.deepEqual(Object.entries(looks({}, totals(requests, 0))), [
      ['Serving', 'good'],
      ['Providers failing', 'good'],
      ['Budgets over 80%', 'good'],
      ['Refusals', 'good'],
      ['Open violations', 'good'],
      ['Unknown keys', 'good'],
    ])
  }
})

test('each trouble is seen in its part', () => {
  assert.equal(looks({}, totals(100, 1)).Serving, 'warn')
  assert.equal(looks({}, totals(100, 5)).Serving, 'bad')
  assert.equal(looks({ failingProviders: [{ provider: 'a' }] })['Providers failing'], 'bad')
  assert.equal(looks({ budgetsOver80: 2 })['Budgets over 80%'], 'warn')
  assert.equal(looks({ budgetsOver80: 2, budgetsSpent: 1 })['Budgets over 80%'], 'bad')
  assert.equal(looks({ refusals: { lastHour: 9, hourBefore: 1, rising: true } })['Refusals rising'], 'warn')
  assert.equal(looks({ openViolations: 1 })['Open violations'], 'warn')
  assert.equal(looks({ unknownKeys: 1 })['Unknown keys'], 'warn')
})

test('a tile says what its value was before', () => {
  const cost = (row) => row.cost
  assert.equal(wasBefore({ cost: 1 }, undefined, cost, money), undefined)
  assert.equal(wasBefore({ cost: 1.5 }, { cost: 1 }, cost, money), 'before: $1.00, +50%')
  assert.equal(wasBefore({ cost: 1.5 }, { cost: 0 }, cost, money), 'before: $0.00')
  assert.equal(wasBefore({ cost: null }, { cost: 1 }, cost, money), 'before: $1.00')
  assert.equal(wasBefore({ cost: 1 }, { cost: undefined }, cost, money), 'before: –')
})

test('projects are found by the words of their names', () => {
  const projects = [{ name: 'Support, Berlin' }, { name: 'Support, Oslo' }, { name: null, projectId: 'proj_1' }]
  assert.deepEqual(named(projects, ' oslo SUPPORT'), [projects[1]])
  assert.deepEqual(named(projects, ''), projects)
  assert.deepEqual(named(projects, 'none'), [])
  assert.deepEqual(named(projects, 'proj_1'), [projects[2]])
})

test('the top projects had traffic, and spent most', () => {
  const projects = [
    { name: 'a', requests: 1, cost: 1 },
    { name: 'b', requests: 0, cost: 0 },
    { name: 'c', requests: 2, cost: 3 },
    { name: 'd', requests: 5, cost: 1 },
  ]
  const names = (number) => topProjects(projects, number).map(({ name }) => name)
  assert.deepEqual(names(5), ['c', 'd', 'a'])
  assert.deepEqual(names(1), ['c'])
})

test('failing providers come first, and those without traffic last', () => {
  const row = (provider, state, total) => ({ provider, state, attempts: { ...NO_FIGURES.attempts, total } })
  const rows = [row('a', 'idle', 900), row('b', 'healthy', 1), row('c', 'healthy', 5), row('d', 'failing', 1)]
  assert.deepEqual(
    inOrder(rows).map(({ provider }) => provider),
    ['d', 'c', 'b', 'a'],
  )
  assert.equal(failuresWords(row('a', 'idle', 3)), '0 of 3 attempts failed (0%)')
})

test('providers of the catalog have their figures, and others are not lost', () => {
  const recorded = [
    { provider: 'a', state: 'healthy' },
    { provider: 'old', state: 'idle' },
  ]
  const rows = joined(
    [
      { name: 'a', wires: ['x'], ready: true },
      { name: 'b', wires: ['y'], ready: null },
    ],
    recorded,
  )
  assert.deepEqual(
    rows.map(({ provider, state, wires, ready }) => [provider, state, wires?.join(), ready]),
    [
      ['a', 'healthy', 'x', true],
      ['b', 'idle', 'y', null],
      ['old', 'idle', undefined, undefined],
    ],
  )
  assert.equal(rows[1].attempts.total, 0)
})

test('a small line fills its frame', () => {
  assert.equal(pointsOf([0, 4, 2]), '2,20 48,2 94,11')
  assert.equal(pointsOf([0]), '2,20')
  assert.equal(pointsOf([]), '')
})
