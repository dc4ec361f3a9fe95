// Reads a JSON array of streams (base64) and writes, for each, the events that eventsource-parser sees.
import { createParser } from 'eventsource-parser'

let input = ''
for await (const piece of process.stdin) input += piece
const all = JSON.parse(input).map((encoded) => {
  const events = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push([event ?? '', data]) })
  // As a client decodes: without the byte order mark.
  parser.feed(new TextDecoder().decode(Buffer.from(encoded, 'base64')))
  return events
})
process.stdout.write(JSON.stringify(all))
