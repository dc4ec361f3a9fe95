// Prices in dollars per million tokens. They have all digits, because rounding would hide the factor from which costs
// are computed.
import { moneyExact } from './format.js'

export function price(dollars) {
  if (dollars === null || dollars === undefined) return '–'
  return dollars === 0 ? 'free' : moneyExact(dollars)
}
