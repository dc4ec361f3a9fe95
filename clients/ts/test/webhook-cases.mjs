// The cases of testdata/webhooks.json, for any runtime.
import { readFileSync } from 'node:fs'
import { differences } from './compare.mjs'

/** All cases. */
export const webhookCases = JSON.parse(
  readFileSync(new URL('../../../testdata/webhooks.json', import.meta.url), 'utf8'),
)

/** Runs a function with the clock stopped at ms. Runs must not overlap. */
export async function at(ms, run) {
  const { now } = Date
  Date.now = () => ms
  try {
    return await run()
  } finally {
    Date.now = now
  }
}

/** Runs a case and describes its failures, one string each. */
export async function failuresOfWebhook({ nowMs, body, headers, secrets, toleranceMs, expect }, verifyWebhook) {
  const secret = secrets.length === 1 ? secrets[0] : secrets
  const result = await at(nowMs, () =>
    verifyWebhook(body, headers, { secret, toleranceMs }).then(
      (event) => ({ event }),
      (error) => ({ error: { class: error.name, code: error.code }, shown: `${error.stack}${JSON.stringify(error)}` }),
    ),
  )
  const visible = secrets
    .map((text) => text.replace(/^whsec_/, ''))
    .filter((text) => text && result.shown?.includes(text))
  return [...differences(expect, result), ...visible.map((text) => `${text} is visible`)]
}
