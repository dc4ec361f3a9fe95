// HTTP dates.

/** Milliseconds of an HTTP date (IMF-fixdate, RFC 9110 5.6.7), or NaN. Date.parse alone accepts almost any text. */
export function httpDate(text: string | null): number {
  return /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text ?? '')
    ? Date.parse(text ?? '')
    : NaN
}
