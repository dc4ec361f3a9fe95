// Prices: dollars per million tokens.
import { money } from './format.js'

export function price(dollars) {
  if (dollars === null || dollars === undefined) return '–'
  return dollars === 0 ? 'free' : money(dollars)
}
