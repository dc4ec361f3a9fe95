// Formats the results as a table.

/** A row with an optional target: least is a lower bound, most an upper bound. */
export function row(name, ours, baseline, value, { note = '', ...bounds } = {}) {
  const [text, target, short] = judged(value, bounds)
  return [name, ours, baseline, text, target, [short, note].filter(Boolean).join('; ')]
}

/** The cells of a value with an optional target: the value, the target, and "short" if the value misses it. */
export function judged(value, { least, most }) {
  const target = least !== undefined ? `≥ ${least}` : most !== undefined ? `≤ ${most}` : ''
  const short = value < (least ?? -Infinity) || value > (most ?? Infinity)
  return [typeof value === 'number' ? value.toFixed(2) : value, target, short ? 'short' : '']
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
