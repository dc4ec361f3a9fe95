// The fields of the limits that count per budget period.
import { html } from '../html.js'
import { PERIOD_LIMITS } from '../values.js'
import { TextField, wrongWith } from './form.js'

/** @param {{draft: {limits: object}, set: (changes: object) => void, error?: Error}} props */
export function PeriodLimits({ draft, set, error }) {
  return html`${PERIOD_LIMITS.map(
    ([
      name,
      label,
    ]) => html`<${TextField} key=${name} label=${label} inputmode="numeric" value=${draft.limits[name]} hint="Leave empty for no limit."
      onValue=${(value) => set({ limits: { ...draft.limits, [name]: value } })} wrong=${wrongWith(error, `limits.${name}`)} />`,
  )}`
}
