import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changed, merged } from '../src/draft.js'

const FORM = {
  draftOf: ({ name, budget, models }) => ({ name, budget: String(budget), models }),
  fieldsOf: ({ name, budget, models }) => ({ name, budget: Number(budget), models }),
}
const BASE = { name: 'Demo', budget: 100, models: [], version: 1 }

test('only changed fields are sent', () => {
  assert.deepEqual(changed(FORM.draftOf(BASE), BASE, FORM), {})
  assert.deepEqual(changed({ name: 'Demo', budget: '250.5', models: [] }, BASE, FORM), { budget: 250.5 })
  assert.deepEqual(changed({ name: 'Demo', budget: '100', models: ['cheap'] }, BASE, FORM), { models: ['cheap'] })
})

test('after a conflict, edited fields keep the draft’s value and the others take the saved one', () => {
  const theirs = { name: 'Theirs', budget: 7, models: ['cheap'], version: 2 }
  const draft = { name: 'Mine', budget: '100', models: [] }
  assert.deepEqual(merged(draft, BASE, theirs, FORM), { name: 'Mine', budget: '7', models: ['cheap'] })
})
