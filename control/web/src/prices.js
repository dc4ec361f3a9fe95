// Prices in dollars per million tokens, with all digits: rounding would hide the factor that costs are computed with.
import { moneyExact } from './format.js'

export function price(dollars) {
  if (dollars === null || dollars === undefined) return '–'
  return dollars === 0 ? 'free' : moneyExact(dollars)
}
