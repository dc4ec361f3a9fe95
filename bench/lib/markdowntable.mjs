// Markdown tables of a run's results.

/** A cell's text for readers, who do not know the word "object call". */
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('object call', 'Durable Object call')

/** A Markdown table of some columns of a section. A column has a title, and the name of the section's column or a function of the row. */
export function table({ head, rows }, columns, wanted = () => true) {
  const text = (row, of) => (typeof of === 'function' ? of(row, head) : row[head.indexOf(of)])
  const cells = rows.filter(wanted).map((row) => columns.map(([, of]) => cell(text(row, of) || '–')))
  const line = (texts) => `| ${texts.join(' | ')} |`
  return [line(columns.map(([title]) => title)), `|${'---|'.repeat(columns.length)}`, ...cells.map(line)].join('\n')
}

/** The columns for the target of a row, and for whether the row meets it. */
export const targetColumns = (name) => [
  ['Target', name],
  [
    'Met',
    (row, head) => {
      if (!row[head.indexOf(name)]) return ''
      return /^short\b/.test(row.at(-1)) ? '**no**' : 'yes'
    },
  ],
]

/** The columns of a comparison of Postern with a baseline. */
export const comparison = [
  ['Measured', 'what'],
  ['Postern', 'Postern'],
  ['Baseline', 'baseline'],
  ['Ratio (median of pairs)', 'ratio'],
  ...targetColumns('target'),
]

const capital = (name) => name[0].toUpperCase() + name.slice(1)

/** A table of all columns of a section. */
export const whole = (section) =>
  table(
    section,
    section.head.map((name) => [capital(name), name]),
  )
