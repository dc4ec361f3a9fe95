// Explains rows that miss their target. bench/explanations.json has an explanation for each kind of row: a pattern of its
// name, why it is short, and what limits it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BENCH } from './process.mjs'

const IDENTITY = ['what', 'request', 'Ledgers', 'object call', 'KV read', 'plan', 'gateway', 'runtime', 'Governor']

const all = JSON.parse(readFileSync(join(BENCH, 'explanations.json'), 'utf8')).map(({ rows, ...text }) => ({
  rows: new RegExp(rows),
  ...text,
}))

/** The name of a row: its cells in the columns that name the measurement. */
export function nameOf({ head }, row) {
  return row.filter((_, i) => IDENTITY.includes(head[i])).join(', ')
}

/** The names of a section's rows that miss their target. */
export const shortRows = (section) =>
  section.rows.filter((row) => /^short\b/.test(row.at(-1))).map((row) => nameOf(section, row))

const explained = (name) => all.find(({ rows }) => rows.test(name))

/** The explanations of a run's short rows, each with the names of its rows. Rows without one come last. */
export function explanations(sections) {
  const names = Object.values(sections).flatMap(shortRows)
  const groups = all.map((one) => ({ ...one, names: names.filter((name) => explained(name) === one) }))
  const others = names.filter((name) => !explained(name))
  return [...groups, { names: others }].filter((group) => group.names.length > 0)
}

/** The lines below a table that explain its short rows. */
export const why = (section) =>
  explanations({ section }).flatMap(({ names, why: reason, limit }) => [
    reason ? `short: ${reason} ${limit}` : 'short, and not explained in bench/explanations.json:',
    ...names.map((name) => `  - ${name}`),
  ])
