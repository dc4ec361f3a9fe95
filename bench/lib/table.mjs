// Formats the results as a table.

/** A row with an optional target: least is a lower bound, most an upper bound. */
export function row(name, ours, baseline, value, { least, most, note = '' } = {}) {
  const target = least !== undefined ? `≥ ${least}` : most !== undefined ? `≤ ${most}` : ''
  const short = value < (least ?? -Infinity) || value > (most ?? Infinity)
  const cells = [name, ours, baseline, typeof value === 'number' ? value.toFixed(2) : value, target]
  return [...cells, [short ? 'short' : '', note].filter(Boolean).join('; ')]
}

/**
 * Aligns cells in columns. The first column is left-aligned and the others are right-aligned. The last one is
 * left-aligned if it contains words.
 */
export function table(head, rows, wordsLast = true) {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((cells) => [...cells[i]].length)))
  const line = (cells) =>
    cells
      .map((cell, i) => {
        const left = i === 0 || (wordsLast && i === cells.length - 1)
        const space = ' '.repeat(widths[i] - [...cell].length)
        return left ? cell + space : space + cell
      })
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join('  ')
  return [line(head), rule, ...rows.map(line)].join('\n')
}

export const perSecond = (n) => `${Math.round(n).toLocaleString('en')}/s`
export const ms = (n) => `${n.toFixed(n < 1 ? 3 : n < 10 ? 2 : 1)} ms`
export const mib = (bytes) => `${(bytes / (1 << 20)).toFixed(2)} MiB`
