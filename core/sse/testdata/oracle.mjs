// Reads a JSON array of streams (base64) and writes the events that eventsource-parser finds in each.
import { createParser } from 'eventsource-parser'

let input = ''
for await (const piece of process.stdin) input += piece
const all = JSON.parse(input).map((encoded) => {
  const events = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push([event ?? '', data]) })
  // TextDecoder removes the byte order mark, as in clients.
  parser.feed(new TextDecoder().decode(Buffer.from(encoded, 'base64')))
  return events
})
process.stdout.write(JSON.stringify(all))
