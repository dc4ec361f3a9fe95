import {
  type Action,
  type Bytes,
  EVENT_CHUNK,
  EVENT_END,
  EVENT_FAULT,
  EVENT_HEAD,
  EVENT_RESPONSE,
  FAILED_STATUS,
  FAULT_BROKEN,
  FAULT_CONNECT,
  FAULT_FIRST_BYTE,
  FAULT_HEAD,
  FAULT_IDLE,
  FAULT_TOO_LARGE,
  FAULT_UNDELIVERED,
  type Headers as Fields,
  NO_BYTES,
} from './abi.ts'
import { lengthHint, readBody, readDeclared } from './body.ts'
import type { Buffers } from './buffers.ts'
import { KeptHeaders, pick } from './headers.ts'
import { Pieces } from './pieces.ts'
import type { CallerResponse } from './response.ts'
import type { Push, Task, Tasks } from './tasks.ts'
import { shorter, Timeouts } from './timeouts.ts'
import type { Working } from './working.ts'

const SHORT_BYTES = 64 << 10
const CHUNK_BYTES = 32 << 10
const MAX_BEHIND_BYTES = 1 << 20

const sent = new KeptHeaders()

/**
 * The result of a fetch. If fault is 0, the response is complete. Status 0 means that the response was streamed to
 * the sink.
 */
export interface Answer {
  fault: number
  status: number
  headers: Fields
  body: Bytes
}

/** Receives a response. The memory of a chunk is reused for the next one. */
export interface Sink {
  head(status: number, headers: Fields): void
  /** Takes a chunk. The next one is read when the returned promise settles. */
  chunk(data: Bytes): Promise<void> | undefined
  /** Takes the result. It is called once. */
  end(answer: Answer): void
}

/**
 * One fetch: its request, four timeouts and response. If a streaming fetch is aborted, it is cut. Any other fetch is
 * abandoned, and the platform cuts it at the end of the exchange: the provider bills the complete response anyway,
 * and an AbortController would cost a tenth of a bare proxy's request (measured).
 */
export class Fetch {
  private readonly controller: AbortController | undefined
  /** Ends a wait of a stream. */
  private abandon: (() => void) | undefined
  /** Settles when a paused fetch resumes. Undefined while it is not paused. */
  private resumed: Promise<void> | undefined
  private release: (() => void) | undefined
  private fault = 0
  private ended = false
  private readonly timeouts: Timeouts
  private readonly action: Action
  private readonly names: string[]
  private readonly sink: Sink

  /** names are the response headers to pass to the core. */
  constructor(action: Action, names: string[], sink: Sink) {
    this.action = action
    this.names = names
    this.sink = sink
    const shortest = shorter(shorter(action.headMs, action.firstByteMs), action.idleMs)
    this.timeouts = new Timeouts(action.totalMs, shortest, (fault) => this.abort(fault))
    if (action.stream > 0) this.controller = new AbortController()
  }

  /** Sends the request. Measured: a callback for the result is cheaper than a promise. */
  send(body: Bytes): void {
    this.timeouts.phase(this.action.headMs, FAULT_HEAD)
    void this.exchange(body)
  }

  /** Passes nothing more to the sink until resume is called. Until then, the idle timeout does not run. */
  pause(): void {
    this.timeouts.phase(0, 0)
    this.resumed = new Promise((resolve) => {
      this.release = resolve
    })
  }

  resume(): void {
    this.resumed = undefined
    this.timeouts.phase(this.action.idleMs, FAULT_IDLE)
    this.release?.()
  }

  /** Aborts the fetch. Only the first fault counts. */
  abort(fault: number): void {
    this.fault ||= fault
    this.abandon?.()
    if (this.controller === undefined) this.end(failed(this.fault))
    else this.controller.abort()
  }

  // Only the first answer counts.
  private end(answer: Answer): void {
    this.timeouts.stop()
    if (this.ended) return
    this.ended = true
    this.sink.end(answer)
  }

  // Measured: a Request object costs more than fetch's arguments.
  private fetch(body: Bytes): Promise<Response> {
    const { url, method, headers } = this.action
    const init: RequestInit = { method, headers: sent.of(headers), redirect: 'manual' }
    if (body.length > 0) init.body = body
    if (this.controller !== undefined) init.signal = this.controller.signal
    return fetch(url, init)
  }

  // Measured: one function that waits for both is cheaper than one for each.
  private async exchange(body: Bytes): Promise<void> {
    let response: Response | undefined
    let answer: Answer
    try {
      response = await this.fetch(body)
      const short = this.begin(response)
      answer = short === undefined ? await this.long(response) : this.complete(response, new Uint8Array(await short))
    } catch (error) {
      answer = failed(this.fault || faultOf(response, error))
    }
    this.end(answer)
  }

  // A short body arrives in one piece or not at all. Therefore, the first-byte timeout covers the whole body. Returns
  // undefined for any other response.
  private begin(response: Response): Promise<ArrayBuffer> | undefined {
    const { action } = this
    if (this.fault !== 0) return undefined
    this.timeouts.phase(action.firstByteMs, FAULT_FIRST_BYTE)
    return response.status === action.stream
      ? undefined
      : readDeclared(response, contentLength(response), Math.min(action.limit, SHORT_BYTES))
  }

  private complete(response: Response, body: Bytes): Answer {
    return { fault: 0, status: response.status, headers: pick(response.headers, this.names), body }
  }

  private async long(response: Response): Promise<Answer> {
    const { action, sink, names } = this
    if (this.fault !== 0) {
      void response.body?.cancel().catch(() => undefined)
      return failed(this.fault)
    }
    if (response.status === action.stream) {
      sink.head(response.status, pick(response.headers, names))
      await this.pump(response)
      return failed(this.fault)
    }
    const idle = () => this.timeouts.phase(action.idleMs, FAULT_IDLE)
    const body = await readBody(response.body, action.limit, lengthHint(contentLength(response)), idle)
    return body === undefined ? failed(FAULT_TOO_LARGE) : this.complete(response, body)
  }

  // Delivers available bytes, including the last ones before the connection breaks or a timeout cuts it. The end of
  // the stream waits only while the fetch is paused. A client that stops reading therefore cannot hold up the
  // exchange.
  private async pump(response: Response): Promise<void> {
    const { action } = this
    if (response.body === null) return
    const pieces = new Pieces((data) => this.take(data), Math.max(1, action.limit - CHUNK_BYTES))
    try {
      await this.read(response.body.getReader({ mode: 'byob' }), pieces)
    } finally {
      await this.untilResumed()
      if (this.resumed === undefined) pieces.end()
      await this.untilResumed()
    }
  }

  // While the sink pauses the fetch, the sink counts as still busy with the chunk.
  private take(data: Bytes): Promise<void> | undefined {
    const room = this.sink.chunk(data)
    const { resumed } = this
    return resumed === undefined ? room : resumed.then(() => room)
  }

  // Bytes that arrive while the client is busy with the last chunk are delivered together. If the client is slow,
  // reading stops, and so does the idle timeout.
  private async read(reader: ReadableStreamBYOBReader, pieces: Pieces): Promise<void> {
    const { action } = this
    let buffer = new Uint8Array(CHUNK_BYTES)
    for (;;) {
      const { done, value } = await reader.read(buffer)
      if (this.fault !== 0) throw new Error('aborted')
      if (done || value === undefined) return
      pieces.add(value as Bytes)
      if (pieces.room !== undefined || this.resumed !== undefined) {
        this.timeouts.phase(0, 0)
        await this.untilResumed()
        if (pieces.room !== undefined) await this.orAborted(pieces.room)
        await this.untilResumed()
        if (this.fault !== 0) throw new Error('aborted')
      }
      this.timeouts.phase(action.idleMs, FAULT_IDLE)
      buffer = new Uint8Array(value.buffer as ArrayBuffer)
    }
  }

  private async untilResumed(): Promise<void> {
    if (this.resumed !== undefined) await this.orAborted(this.resumed)
  }

  // Also settles when the fetch is aborted.
  private orAborted(promise: Promise<void>): Promise<void> {
    if (this.fault !== 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.abandon = resolve
      void promise.then(resolve)
    })
  }
}

const contentLength = (response: Response) => response.headers.get('content-length')

// The fault of an exchange that failed with an error, before or after its response head.
function faultOf(response: Response | undefined, error: unknown): number {
  if (response !== undefined) return FAULT_BROKEN
  return error instanceof TypeError ? FAULT_UNDELIVERED : FAULT_CONNECT
}

function failed(fault: number): Answer {
  return { fault, status: 0, headers: [], body: NO_BYTES }
}

/** The parts of an exchange that a fetch uses. */
interface Fetcher {
  readonly tasks: Tasks
  readonly buffers: Buffers
  readonly response: CallerResponse
  readonly flight: { readonly waiting: number }
}

/** Carries out an exchange's fetches. */
export class FetchActions {
  private readonly names: string[]
  private readonly exchange: Fetcher
  private readonly push: Push
  private readonly working: Working

  /** names are the response headers to pass to the core. */
  constructor(names: string[], exchange: Fetcher, push: Push, working: Working) {
    this.names = names
    this.exchange = exchange
    this.push = push
    this.working = working
  }

  start(action: Action): void {
    this.working.outlive()
    if (action.stream > 0) this.exchange.response.watch()
    const { id } = action
    const fetch = new Fetch(action, this.names, {
      head: (status, headers) => {
        if (this.isOpen(task)) this.push(EVENT_HEAD, id, status, NO_BYTES, headers)
      },
      chunk: (data) => {
        if (this.isOpen(task)) this.push(EVENT_CHUNK, id, 0, data)
        return this.room()
      },
      end: (answer) => {
        if (this.isOpen(task)) this.end(id, answer)
      },
    })
    const task = this.exchange.tasks.add(action, () => fetch.abort(FAULT_CONNECT), fetch)
    const sent = this.exchange.buffers.body(action.body)
    action.body = [] // the parts would keep the memory of a replaced core alive
    fetch.send(sent)
  }

  private end(id: number, { fault, status, headers, body }: Answer): void {
    const { response } = this.exchange
    const failed = fault !== 0 || status >= FAILED_STATUS
    if (failed && !response.started) response.watch()
    if (fault !== 0) this.push(EVENT_FAULT, id, fault)
    else if (status === 0) this.push(EVENT_END, id, 0)
    else this.push(EVENT_RESPONSE, id, status, body, headers)
  }

  // If a fetch is canceled, its late result is dropped, because its ID and its buffer may already be used again.
  private isOpen(task: Task): boolean {
    return this.exchange.tasks.find(task.id) === task
  }

  // Followers wait for the leader's client only if it is far behind.
  private room(): Promise<void> | undefined {
    const { stream } = this.exchange.response
    if (stream === undefined || (this.exchange.flight.waiting > 0 && stream.behind < MAX_BEHIND_BYTES)) return undefined
    return stream.drained
  }
}
