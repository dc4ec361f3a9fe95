// A chart drawn by uPlot. Screen readers get its title, minimum and maximum. charts.js lists the data in a table.
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { html } from './html.js'
import { slotWords } from './ranges.js'
import { THEME_EVENT } from './theme.js'
import { textOf, zone, zoneWords } from './zone.js'

const HEIGHT = 170
const AXIS_WIDTH = 62
const X_AXIS_HEIGHT = 24
const FONT = '12px system-ui, sans-serif'
const COLORS = ['--line-1', '--line-2']
/** The tick steps of an axis with whole numbers. */
const WHOLE_STEPS = Array.from({ length: 13 }, (_, i) => 10 ** i).flatMap((n) => [n, 2 * n, 5 * n])
const DASHES = [[], [6, 4]]

/**
 * @param {{title: string, times: number[], step: 'minute' | 'hour' | 'day', bars?: boolean, whole?: boolean, format: (value: number) => string,
 *   scale?: (value: number) => string, lines: {label: string, values: (number | null)[]}[]}} props  times in ms; whole: the
 *   values are whole numbers; scale: formats the tick labels; the default is format
 */
export function Chart({ title, times, step, lines, bars = false, whole = false, format, scale = format }) {
  const frame = useRef(null)
  const [hovered, setHovered] = useState(null)
  const redraw = useRedraw()
  useEffect(() => {
    const target = frame.current
    const data = [times.map((ms) => ms / 1000), ...lines.map((line) => line.values)]
    setHovered(null) // an index into the previous data, which may have had more points
    const plot = new uPlot(
      options({ target, step, lines, bars, whole, format: scale, onHover: setHovered }),
      data,
      target,
    )
    const observer = new ResizeObserver(() => plot.setSize({ width: target.clientWidth, height: HEIGHT }))
    observer.observe(target)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times.join(), JSON.stringify(lines), redraw, zone()])
  const hoveredTime = times[hovered] ?? null
  return html`<div class="chart">
    <p class="chart-key" aria-hidden="true">${lines.map(
      (line, i) =>
        html`<span key=${line.label}><i class=${`swatch line-${i + 1}`}></i>${line.label}${
          hoveredTime === null ? '' : html` <b>${valueText(line.values[hovered], format)}</b>`
        }</span>`,
    )}<span class="muted">${hoveredTime === null ? '' : timeText(hoveredTime, step)}</span></p>
    <div ref=${frame} class="plot" role="img" aria-label=${summary(title, lines, format)}></div>
  </div>`
}

function valueText(value, format) {
  return value === null || value === undefined ? '–' : format(value)
}

function timeText(ms, step) {
  return `${slotWords(ms, step)}${step === 'day' ? '' : ` ${zoneWords()}`}`
}

function summary(title, lines, format) {
  const parts = lines.map(({ label, values }) => {
    const known = values.filter((value) => value !== null)
    if (known.length === 0) return `${label}: no data`
    return `${label}: ${format(Math.min(...known))} to ${format(Math.max(...known))}`
  })
  return `Chart. ${title}. ${parts.join('; ')}.`
}

/**
 * A number that changes with the theme. The change causes a redraw, because a canvas does not follow style sheets.
 */
function useRedraw() {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const changed = () => setCount((n) => n + 1)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', changed)
    document.addEventListener(THEME_EVENT, changed)
    return () => {
      scheme.removeEventListener('change', changed)
      document.removeEventListener(THEME_EVENT, changed)
    }
  }, [])
  return count
}

function options({ target, step, lines, bars, whole, format, onHover }) {
  const styles = getComputedStyle(target)
  const color = (name) => styles.getPropertyValue(name).trim()
  const axis = { stroke: color('--muted'), font: FONT, ticks: { show: false } }
  return {
    width: target.clientWidth,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { show: !bars } },
    tzDate: dateIn(step),
    scales: {
      x: { range: (_, first, last) => padded(first, last, step) },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    series: [{}, ...lines.map((_, i) => seriesOptions(i, bars, color(COLORS[i])))],
    axes: [
      {
        ...axis,
        size: X_AXIS_HEIGHT,
        gap: 4,
        grid: { show: false },
        values: (_, splits) => splits.map((split) => tick(split, step)),
        incrs: increments(step),
        space: 44,
      },
      {
        ...axis,
        size: AXIS_WIDTH,
        gap: 6,
        grid: { stroke: color('--grid'), width: 1 },
        space: 36,
        values: (_, splits) => splits.map((split) => (split === 0 ? '' : format(split))), // no label for 0, which is the x axis
        ...(whole && { incrs: WHOLE_STEPS }),
      },
    ],
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
  }
}

function seriesOptions(i, bars, stroke) {
  const common = { stroke, width: bars ? 0 : 2, points: { show: !bars, size: 6 } }
  if (!bars) return { ...common, dash: DASHES[i], spanGaps: true }
  return { ...common, fill: stroke, paths: uPlot.paths.bars({ size: [0.7 - 0.3 * i, 28] }), points: { show: false } }
}

/**
 * Returns a function that converts times to the dates to which uPlot aligns ticks. The dates are in the browser's
 * zone only if the user chose that zone and the steps are not days.
 */
function dateIn(step) {
  const isLocal = step !== 'day' && zone() === 'local'
  return (seconds) => (isLocal ? new Date(seconds * 1000) : uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'))
}

const STEP_S = { minute: 60, hour: 3600, day: 86_400 }
/** The possible distances between ticks, in steps. */
const TICKS = {
  minute: [1, 2, 5, 10, 15, 30, 60],
  hour: [1, 2, 3, 6, 12, 24, 48, 72],
  day: [1, 2, 3, 5, 7, 10, 14, 21, 28],
}

/** The x range, with space for half a bar at both ends. */
function padded(first, last, step) {
  return [first - STEP_S[step] / 2, last + STEP_S[step] / 2]
}

function increments(step) {
  return TICKS[step].map((n) => n * STEP_S[step])
}

/** The time of day, or the date at the beginning of a day. */
function tick(seconds, step) {
  if (step === 'day') return new Date(seconds * 1000).toISOString().slice(5, 10)
  const text = textOf(seconds * 1000)
  return text.slice(11, 16) === '00:00' ? text.slice(5, 10) : text.slice(11, 16)
}
