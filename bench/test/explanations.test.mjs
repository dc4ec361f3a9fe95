// Rows that miss their target are named, with an explanation where there is one.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { explanations, nameOf, shortRows, why } from '../lib/explanations.mjs'
import { tables } from '../lib/markdown.mjs'
import { missed, server } from '../lib/markdownserver.mjs'
import { BENCH } from '../lib/process.mjs'
import { summary } from '../lib/summary.mjs'
import { row } from '../lib/table.mjs'

const head = ['what', 'Postern', 'baseline', 'ratio', 'target', '']
const section = (...rows) => ({ head, rows, notes: [] })
const known = row('PostgreSQL, hits, 8 connections, against the reverse proxy: requests', '1', '2', 0.5, { least: 0.8 })
const unknown = row('something new', '1', '2', 0.5, { least: 0.8, note: 'a note' })
const met = row('PostgreSQL, one key, 8 connections', '2', '1', 2, { least: 0.8, note: 'shortly' })

test('only rows below their target are short', () => {
  assert.deepEqual(shortRows(section(known, met, unknown)), [known[0], unknown[0]])
})

test('the name of a row is in all columns that name the measurement', () => {
  const far = { head: ['object call', 'KV read', 'plan', 'p50', ''] }
  assert.equal(nameOf(far, ['5.00 ms', '30.0 ms', 'default', '9 ms', 'short']), '5.00 ms, 30.0 ms, default')
})

test('a short row is explained, or named as not explained', () => {
  const lines = why(section(known, met, unknown))
  assert.match(lines[0], /^short: .+\.$/)
  assert.deepEqual(lines.slice(1), [
    `  - ${known[0]}`,
    'short, and not explained in bench/explanations.json:',
    `  - ${unknown[0]}`,
  ])
})

test('the page lists each explanation once, with all of its rows', () => {
  const other = [known[0].replace('hits', 'one key'), ...known.slice(1)]
  const groups = explanations({ a: section(known, unknown), b: section(other) })
  assert.deepEqual(
    groups.map(({ names }) => names),
    [[known[0], other[0]], [unknown[0]]],
  )
  const text = missed({ a: section(known, unknown), b: section(other) })
  assert.equal(text.split(groups[0].why).length, 2)
  assert.ok(text.includes(`Not explained yet:\n\n  - ${unknown[0]}`))
  assert.match(missed({ a: section(met) }), /All rows meet their targets/)
})

test('the part about the server has the figures, the machine and the targets', () => {
  const machine = { cpu: 'CPU', cores: 2, memoryGB: 4, kernel: '6.1', node: '22', postgres: '15', commit: 'abc' }
  const latency = { head: ['server', 'p50'], rows: [['Postern', '1.00 ms']], notes: [] }
  const sections = { server: section(known, met), serverLatency: latency }
  const text = server({ date: '2026-11-28', quick: true, machine, sections })
  assert.ok(text.includes('CPU, 2 cores, 4 GB, Linux 6.1; Node 22, PostgreSQL 15; Postern at abc'))
  assert.ok(text.includes('| 1 | 2 | 0.50 | ≥ 0.8 | **no** |'))
  assert.ok(text.includes('| 2 | 1 | 2.00 | ≥ 0.8 | yes |'))
  assert.ok(text.includes('| Postern | 1.00 ms |'))
  assert.match(text, /short trial/)
})

test('every explanation says why in sentences, and no two explain the same rows', () => {
  const all = JSON.parse(readFileSync(join(BENCH, 'explanations.json'), 'utf8'))
  for (const { rows, why: reason, limit } of all)
    for (const text of [reason, limit]) assert.match(text, /^[A-Z].*\.$/, rows)
  assert.equal(new Set(all.map(({ rows }) => rows)).size, all.length)
})

test('the page has the figures of both benchmarks, or only those of the gateway', () => {
  const { selfhosted: _, ...edge } = JSON.parse(readFileSync(join(BENCH, 'results.json'), 'utf8'))
  const machine = { cpu: 'CPU', cores: 2, memoryGB: 4 }
  const latency = { head: ['server', 'p50'], rows: [['Postern', '1.00 ms']], notes: [] }
  const figures = section(
    row('uncached, 64 connections, against the reverse proxy: requests', '1,000/s', '2,000/s', 0.5, { least: 0.5 }),
    row('streams in bursts, against a proxy that reads each event: CPU per event', '8 µs', '4 µs', 2, { most: 2.5 }),
  )
  const selfhosted = { date: '2026-11-28', machine, sections: { server: figures, serverLatency: latency } }
  const both = { ...edge, selfhosted }
  assert.match(
    summary(both),
    /serves 1,000 uncached requests per second, and Go's reverse proxy\n {2}2,000\. .* 2\.00 times/,
  )
  assert.match(tables(both), /\n## On a server\n/)
  assert.doesNotMatch(summary(edge), /On a server/)
  assert.doesNotMatch(tables(edge), /\n## On a server\n/)
})
