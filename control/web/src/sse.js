// Server-sent events out of a fetch's body (HTML standard, section 9.2), for streams that need a POST.

export class EventParser {
  #rest = ''
  #data = []
  #event = ''
  #afterReturn = false

  /**
   * Takes the next piece, cut anywhere.
   * @returns {{event: string, data: string}[]} the events that it completes
   */
  push(text) {
    const events = []
    for (const line of this.#lines(text)) {
      if (line !== '') this.#field(line)
      else if (this.#data.length > 0) events.push(this.#take())
    }
    return events
  }

  /** Whole lines, which end with LF, CR or both; a CR at the end of a piece may have its LF in the next. */
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

/** The events of an answer, as they come. @param {Response} response */
export async function* eventsOf(response) {
  const parser = new EventParser()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield* parser.push(value)
  }
}
