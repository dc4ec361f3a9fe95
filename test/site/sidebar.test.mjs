// The sidebar has the order of docs/README.md.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sidebar } from '../../site/sidebar.mjs'

const group = (label) => sidebar().find((found) => found.label === label)

test('a list below a document is a group that starts with the document', () => {
  const { collapsed, items } = group('Project').items.find(({ label }) => label === 'Decisions')
  assert.equal(collapsed, true)
  assert.deepEqual(items.slice(0, 2), [
    { label: 'Overview', link: '/project/decisions/' },
    { label: 'Core and hosts', link: '/project/decisions/core-and-hosts/' },
  ])
})

test('a document without such a list is a link', () => {
  assert.deepEqual(group('Project').items[0], { label: 'Performance', link: '/project/performance/' })
})
