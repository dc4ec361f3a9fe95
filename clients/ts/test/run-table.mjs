// Runs the table of behaviors and the webhook cases in any runtime, and prints the failures as JSON.
//
//   run-table.mjs SERVER MODULE
import process from 'node:process'
import { allCases, failuresOf } from './table.mjs'
import { failuresOfWebhook, webhookCases } from './webhook-cases.mjs'

const AT_ONCE = 5 // most cases wait for a server, a timeout or a closed connection
const [server, module] = process.argv.slice(2)
const loaded = await import(module)
const { Postern, verifyWebhook } = loaded.Postern ? loaded : loaded.default // a CommonJS module
const failures = {}
const cases = allCases()
const left = [...cases]
const runLeft = async () => {
  for (let given = left.shift(); given; given = left.shift()) {
    const found = await failuresOf(given, { Postern, server }).catch((error) => [String(error.stack)])
    if (found.length > 0) failures[given.name] = found
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, runLeft))
for (const given of webhookCases) {
  const found = await failuresOfWebhook(given, verifyWebhook)
  if (found.length > 0) failures[given.name] = found
}
console.log(JSON.stringify({ cases: cases.length, webhooks: webhookCases.length, failures }))
process.exit(0)
