// The bar that selects the days of a report. In the URL they are period=day|week|month and back, the number of periods before now.
import { html } from '../html.js'
import { maxBack, PERIODS, period } from '../periods.js'
import { useQuery } from '../router.js'
import { Button } from './button.js'

const LABELS = { day: 'Day', week: 'Week', month: 'Month' }

/** The selected period, as period() has it, with its kind and the number of periods before now, and the setter of the URL. */
export function usePeriod() {
  const [query, setQuery] = useQuery(['period', 'back'])
  const kind = PERIODS.includes(query.period) ? query.period : 'month'
  const back = Math.min(maxBack(kind), Math.max(0, Number.parseInt(query.back, 10) || 0))
  return { kind, back, span: period(kind, -back), setQuery }
}

/** @param {{of: ReturnType<typeof usePeriod>}} props */
export function PeriodBar({ of: { kind, back, span, setQuery } }) {
  const onKind = (value) => setQuery({ period: value === 'month' ? '' : value, back: '' })
  const onBack = (step) => setQuery({ back: back + step > 0 ? String(back + step) : '' })
  return html`<div class="period-bar">
    <div class="segments" role="group" aria-label="Period">${PERIODS.map(
      (name) =>
        html`<${Button} key=${name} look="segment" aria-pressed=${name === kind ? 'true' : 'false'} onClick=${() => onKind(name)}>${LABELS[name]}<//>`,
    )}</div>
    <div class="stepper">
      <${Button} look="small" disabled=${!span.earlier} aria-label=${`Previous ${kind}`} onClick=${() => onBack(1)}>‹<//>
      <span class="period-label" role="status">${span.label}</span>
      <${Button} look="small" disabled=${!span.later} aria-label=${`Next ${kind}`} onClick=${() => onBack(-1)}>›<//>
    </div>
  </div>`
}
