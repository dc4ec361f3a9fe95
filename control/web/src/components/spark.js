// A small line chart of a row's traffic, drawn as SVG. Screen readers get its figures.
import { count, plural } from '../format.js'
import { html } from '../html.js'

const WIDTH = 96
const HEIGHT = 22
const MARGIN = 2

/** The points of a line through values. It is as wide as the drawing, and the largest value touches the top. @param {number[]} values */
export function pointsOf(values) {
  const most = Math.max(1, ...values)
  const step = (WIDTH - 2 * MARGIN) / Math.max(1, values.length - 1)
  const round = (n) => Math.round(n * 10) / 10
  return values
    .map((value, i) => `${round(MARGIN + i * step)},${round(HEIGHT - MARGIN - (value / most) * (HEIGHT - 2 * MARGIN))}`)
    .join(' ')
}

/** @param {{values: number[], step: string}} props  values: requests per step */
export function Spark({ values, step }) {
  const total = values.reduce((sum, value) => sum + value, 0)
  if (total === 0) return html`<span class="muted">none</span>`
  const words = `${plural(total, 'request')}, at most ${count(Math.max(...values))} per ${step}, ${count(values.at(-1))} in the last`
  return html`<svg class="spark" role="img" aria-label=${words} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} width=${WIDTH} height=${HEIGHT}>
    <title>${words}</title><polyline points=${pointsOf(values)} />
  </svg>`
}
