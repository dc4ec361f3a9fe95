import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentsOf, rowsOf, sizeOf, treeOf, withPaths } from '../src/groups.js'

const root = { id: 'root', name: 'Deployment', parent: null }
const group = (id, name, parent = 'root', more = {}) => ({ id, name, parent, archived: false, ...more })
const project = (id, name, of = null, more = {}) => ({ id, name, group: of, status: 'active', ...more })
const ALL = {
  root,
  groups: [group('t2', 'Team 10', 'd1'), group('d2', 'Sales'), group('d1', 'Research'), group('t1', 'Team 2', 'd1')],
  projects: [project('p3', 'Search', 't1'), project('p1', 'Loose'), project('p2', 'Base', 'd1')],
}
const view = { text: '', archived: false, opened: new Map() }
const names = (rows) => rows.map(({ record, depth }) => `${'-'.repeat(depth)}${record.name}`)

test('groups come before projects, each in the order of their names', () => {
  const tree = treeOf(ALL)
  assert.deepEqual(names(rowsOf(tree, view)), [
    'Deployment',
    '-Research',
    '--Team 2',
    '---Search',
    '--Team 10',
    '--Base',
    '-Sales',
    '-Loose',
  ])
  assert.equal(sizeOf(tree), 8)
  assert.deepEqual(contentsOf(tree), { groups: 2, projects: 1 })
})

test('a tree can begin at a group', () => {
  assert.deepEqual(names(rowsOf(treeOf(ALL, 'd1'), view)), ['Research', '-Team 2', '--Search', '-Team 10', '-Base'])
  assert.equal(treeOf(ALL, 'deleted'), undefined)
})

test('each row names what it is in', () => {
  const within = Object.fromEntries(rowsOf(treeOf(ALL), view).map((row) => [row.record.name, row.within]))
  assert.deepEqual([within.Deployment, within.Research, within.Search], ['', 'Deployment', 'Team 2'])
})

test('a closed group hides its contents, but not from a search', () => {
  const opened = new Map([['d1', false]])
  assert.deepEqual(names(rowsOf(treeOf(ALL), { ...view, opened })), ['Deployment', '-Research', '-Sales', '-Loose'])
  const found = rowsOf(treeOf(ALL), { ...view, opened, text: 'sea' })
  assert.deepEqual(names(found), ['Deployment', '-Research', '--Team 2', '---Search'])
})

test('a search without a match shows nothing', () => {
  assert.deepEqual(rowsOf(treeOf(ALL), { ...view, text: 'nothing' }), [])
})

test('archived groups are hidden with their contents', () => {
  const groups = ALL.groups.map((one) => (one.id === 'd1' ? { ...one, archived: true } : one))
  const projects = [...ALL.projects, project('p4', 'Old', null, { status: 'archived' })]
  const tree = treeOf({ root, groups, projects })
  assert.deepEqual(names(rowsOf(tree, view)), ['Deployment', '-Sales', '-Loose'])
  assert.equal(rowsOf(tree, { ...view, archived: true }).length, 9)
})

test('a large tree shows the first level at first', () => {
  const projects = Array.from({ length: 200 }, (_, i) => project(`p${i}`, `Project ${i}`, i % 2 === 0 ? 't1' : null))
  const rows = rowsOf(treeOf({ ...ALL, projects }), view)
  assert.equal(rows.length, 1 + 2 + 100)
  const open = rowsOf(treeOf({ ...ALL, projects }), { ...view, opened: new Map([['d1', true]]) })
  assert.equal(open.length, rows.length + 2)
})

test('a path names the group above', () => {
  assert.deepEqual(
    withPaths(ALL.groups).map(({ path }) => path),
    ['Research', 'Research / Team 2', 'Research / Team 10', 'Sales'],
  )
})
