import { type Action, type Bytes, EVENT_DISCONNECT, type Headers as Fields } from './abi.ts'
import type { RequestBody } from './body.ts'
import { httpHeaders, KeptHeaders } from './headers.ts'
import { CallerStream } from './stream.ts'
import type { Push } from './tasks.ts'
import type { Working } from './working.ts'

const sent = new KeptHeaders()

/** The response to the caller. It also notices when the caller disconnects. */
export class CallerResponse {
  private readonly request: Request
  private readonly body: RequestBody
  private readonly push: Push
  private readonly working: Working
  private response: Response | undefined
  private resolve: ((response: Response) => void) | undefined
  private watching = false
  /** The body of a streamed response. */
  stream: CallerStream | undefined

  constructor(request: Request, body: RequestBody, push: Push, working: Working) {
    this.request = request
    this.body = body
    this.push = push
    this.working = working
  }

  get started(): boolean {
    return this.response !== undefined
  }

  /** Returns the response as soon as there is one and the request body has been read or drained. */
  result(): Response | Promise<Response> {
    const { response } = this
    const unread = response && this.body.unread()
    if (response !== undefined && unread === undefined) return response
    return new Promise((resolve) => {
      this.resolve = resolve
      if (response !== undefined && unread !== undefined) void this.respondAfter(unread, resolve, response)
    })
  }

  respond(response: Response): void {
    if (this.response !== undefined) throw new Error('a second response')
    this.response = response
    if (this.resolve === undefined) return
    const unread = this.body.unread()
    if (unread === undefined) this.resolve(response)
    else void this.respondAfter(unread, this.resolve, response)
  }

  /** Responds with a complete body. */
  complete({ code, headers }: Action, body: Bytes): void {
    this.respond(httpResponse(this.request.method, code, headers, body))
  }

  /** Responds with a stream. */
  open({ code, headers, data }: Action): void {
    this.working.outlive()
    this.working.add()
    this.stream = new CallerStream(
      data,
      () => this.push(EVENT_DISCONNECT, 0, 0),
      () => this.working.done(),
    )
    this.respond(new Response(this.stream.body, { status: code, headers: sent.of(headers) }))
  }

  /**
   * Watches for the client's disconnect. The signal costs a tenth of a bare proxy's CPU time. Therefore, it is used
   * in two cases only: before a streaming fetch, which a disconnect cuts, and before a failed fetch is retried.
   */
  watch(): void {
    if (this.watching) return
    this.watching = true
    const { signal } = this.request
    if (signal.aborted) this.left()
    else signal.addEventListener('abort', () => this.left())
  }

  private left(): void {
    if (this.response === undefined) this.push(EVENT_DISCONNECT, 0, 0)
    else this.stream?.leave()
  }

  private async respondAfter(
    unread: Promise<void>,
    resolve: (response: Response) => void,
    response: Response,
  ): Promise<void> {
    this.working.add()
    await unread
    resolve(response)
    this.working.done()
  }
}

/** A complete response. For HEAD, the platform drops the body, and also the length unless the header is set. */
export function httpResponse(method: string, status: number, fields: Fields, body: Bytes): Response {
  if (method !== 'HEAD') return new Response(body.length > 0 ? body : null, { status, headers: sent.of(fields) })
  const headers = new Headers(httpHeaders(fields))
  headers.set('content-length', String(body.length))
  return new Response(null, { status, headers })
}
