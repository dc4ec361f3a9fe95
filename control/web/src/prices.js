// Prices: dollars per million tokens, exact, because that is what is multiplied.
import { moneyExact } from './format.js'

export function price(dollars) {
  if (dollars === null || dollars === undefined) return '–'
  return dollars === 0 ? 'free' : moneyExact(dollars)
}
