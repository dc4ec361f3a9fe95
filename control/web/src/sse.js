// Server-sent events from a fetch body (HTML standard, section 9.2). EventSource is not used, because it cannot send
// a POST.

export class EventParser {
  #rest = ''
  #data = []
  #event = ''
  #afterReturn = false

  /**
   * Parses the next chunk, which may be split anywhere.
   * @returns {{event: string, data: string}[]} the events that the chunk completes
   */
  push(text) {
    const events = []
    for (const line of this.#lines(text)) {
      if (line !== '') this.#field(line)
      else if (this.#data.length > 0) events.push(this.#take())
    }
    return events
  }

  /**
   * Returns the complete lines. A line ends with LF, CR or CRLF. After a CR at the end of a chunk, the LF may be in
   * the next chunk.
   */
  #lines(text) {
    let input = this.#afterReturn && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') this.#afterReturn = text.endsWith('\r')
    input = this.#rest + input
    const lines = input.split(/\r\n|\n|\r/)
    this.#rest = lines.pop() ?? ''
    return lines
  }

  #field(line) {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    if (name === 'data') this.#data.push(value)
    if (name === 'event') this.#event = value
  }

  #take() {
    const event = { event: this.#event || 'message', data: this.#data.join('\n') }
    this.#data = []
    this.#event = ''
    return event
  }
}

/** The events of a streamed response as they arrive. @param {Response} response */
export async function* eventsOf(response) {
  const parser = new EventParser()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield* parser.push(value)
  }
}
