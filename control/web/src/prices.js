// Prices in dollars per million tokens. They have all digits, because costs are computed from the exact price.
import { moneyExact } from './format.js'

export function price(dollars) {
  if (dollars === null || dollars === undefined) return '–'
  return dollars === 0 ? 'free' : moneyExact(dollars)
}
