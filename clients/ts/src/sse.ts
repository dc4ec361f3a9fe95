// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), limited to the features that
// the gateway uses. Only the data of each event is read. Names, IDs and comments are skipped.

/** Largest event, in characters. */
export const MAX_EVENT = 16 * 1024 * 1024

/** An event is larger than MAX_EVENT. */
export class EventTooLarge extends Error {}

/** Splits a byte stream into the data of events. Chunks may end anywhere, even inside a character or a line ending. */
export class EventDecoder {
  readonly #decoder = new TextDecoder()
  #line = ''
  #data: string[] = []
  #size = 0
  #afterReturn = false;

  /** The data of the events that end in this chunk. */
  *push(chunk: Uint8Array): Generator<string> {
    let text = this.#decoder.decode(chunk, { stream: true })
    if (text === '') return
    // CRLF is one line end, even if the chunk ends between its two characters.
    const lineFeedOfReturn = this.#afterReturn && text.startsWith('\n')
    this.#afterReturn = text.endsWith('\r')
    if (lineFeedOfReturn) text = text.slice(1)
    const lines = text.split(/\r\n|\n|\r/)
    const rest = lines.pop() ?? ''
    for (const line of lines) {
      const data = this.#end(this.#line + line)
      this.#line = ''
      if (data !== undefined) yield data
    }
    this.#line += rest
    if (this.#size + this.#line.length > MAX_EVENT) throw new EventTooLarge()
  }

  /** Takes a line. A blank line ends an event, whose data is returned. */
  #end(line: string): string | undefined {
    if (line === '') {
      const data = this.#data
      this.#data = []
      this.#size = 0
      return data.length > 0 ? data.join('\n') : undefined
    }
    if (line === 'data' || line.startsWith('data:')) {
      this.#data.push(line.slice(5).replace(/^ /, ''))
      this.#size += line.length
      if (this.#size > MAX_EVENT) throw new EventTooLarge()
    }
    return undefined
  }
}
