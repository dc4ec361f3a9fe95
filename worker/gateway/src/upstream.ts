import {
  type Action,
  type Bytes,
  FAULT_BROKEN,
  FAULT_CONNECT,
  FAULT_FIRST_BYTE,
  FAULT_HEAD,
  FAULT_IDLE,
  FAULT_TOO_LARGE,
  FAULT_TOTAL,
  FAULT_UNDELIVERED,
  type Headers as Fields,
  NO_BYTES,
} from './abi.ts'
import { lengthHint, readBody, readDeclared } from './body.ts'
import { Pieces } from './pieces.ts'

const SHORT_BYTES = 64 << 10
const CHUNK_BYTES = 32 << 10

/** The result of a fetch: a complete response if fault is 0. Status 0 means that the response was streamed to the sink. */
export interface Answer {
  fault: number
  status: number
  headers: Fields
  body: Bytes
}

/** Receives a streamed response. A chunk's memory is reused for the next one. */
export interface Sink {
  head(status: number, headers: Fields): void
  /** Takes a chunk. The next one is read when the returned promise settles. */
  chunk(data: Bytes): Promise<void> | undefined
}

/**
 * One fetch: its request, four timeouts and response. A streamed one is cut when it is aborted. Any other is abandoned, and
 * the platform cuts it at the end of the exchange: measured, an AbortController costs a tenth of a bare proxy's request, and
 * the provider bills a whole response anyway.
 */
export class Upstream {
  private readonly controller: AbortController | undefined
  private abandon: (() => void) | undefined
  /** Settles when a paused fetch resumes; undefined while it is not paused. */
  private resumed: Promise<void> | undefined
  private release: (() => void) | undefined
  private fault = 0
  private timer: number | null = null
  private phaseEndMs = Number.POSITIVE_INFINITY
  private phaseFault = 0
  private timerMs = Number.POSITIVE_INFINITY
  private endMs = Number.POSITIVE_INFINITY
  private readonly action: Action
  private readonly names: string[]
  private readonly sink: Sink

  /** names are the response headers to pass to the core. */
  constructor(action: Action, names: string[], sink: Sink) {
    this.action = action
    this.names = names
    this.sink = sink
    if (action.stream > 0) this.controller = new AbortController()
  }

  /** Sends the request; never rejects. */
  async send(body: Bytes): Promise<Answer> {
    const { headMs, totalMs } = this.action
    if (totalMs > 0) this.endMs = Date.now() + totalMs
    this.phase(headMs, FAULT_HEAD)
    const answer = await (this.controller === undefined ? this.orAbandoned(body) : this.exchange(body))
    clearTimeout(this.timer)
    return answer
  }

  /** Passes nothing more to the sink until resume. The idle timeout does not run meanwhile. */
  pause(): void {
    this.phase(0, 0)
    this.resumed = new Promise((resolve) => {
      this.release = resolve
    })
  }

  resume(): void {
    this.resumed = undefined
    this.phase(this.action.idleMs, FAULT_IDLE)
    this.release?.()
  }

  /** Aborts the fetch. The first fault wins. */
  abort(fault: number): void {
    this.fault ||= fault
    this.abandon?.()
    this.controller?.abort()
  }

  private orAbandoned(body: Bytes): Promise<Answer> {
    return new Promise((resolve) => {
      this.abandon = () => resolve(failed(this.fault))
      void this.exchange(body).then(resolve)
    })
  }

  // Measured: a Request object costs more than fetch's arguments.
  private fetch(body: Bytes): Promise<Response> {
    const { url, method, headers } = this.action
    const init: RequestInit = { method, headers: httpHeaders(headers), redirect: 'manual' }
    if (body.length > 0) init.body = body
    if (this.controller !== undefined) init.signal = this.controller.signal
    return fetch(url, init)
  }

  private async exchange(body: Bytes): Promise<Answer> {
    let response: Response
    try {
      response = await this.fetch(body)
    } catch (error) {
      return failed(this.fault || (error instanceof TypeError ? FAULT_UNDELIVERED : FAULT_CONNECT))
    }
    if (this.fault !== 0) {
      void response.body?.cancel().catch(() => undefined)
      return failed(this.fault)
    }
    const { action, names, sink } = this
    try {
      this.phase(action.firstByteMs, FAULT_FIRST_BYTE)
      if (response.status === action.stream) {
        sink.head(response.status, picked(response.headers, names))
        await this.pump(response)
        return failed(this.fault)
      }
      const body = await this.body(response)
      if (body === undefined) return failed(FAULT_TOO_LARGE)
      return { fault: 0, status: response.status, headers: picked(response.headers, names), body }
    } catch {
      return failed(this.fault || FAULT_BROKEN)
    }
  }

  // For a short body, the first-byte timeout covers the whole body, which arrives in one piece or not at all.
  private async body(response: Response): Promise<Bytes | undefined> {
    const { action } = this
    const short = readDeclared(response, Math.min(action.limit, SHORT_BYTES))
    if (short !== undefined) return new Uint8Array(await short)
    const idle = () => this.phase(action.idleMs, FAULT_IDLE)
    return readBody(response.body, action.limit, lengthHint(response.headers), idle)
  }

  // Delivers available bytes, also the last ones before the connection breaks or a timeout cuts it. The end waits only while the
  // fetch is paused, so a client that stops reading cannot hold up the exchange.
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

  // The sink also takes a chunk for as long as it pauses the fetch.
  private take(data: Bytes): Promise<void> | undefined {
    const room = this.sink.chunk(data)
    const { resumed } = this
    return resumed === undefined ? room : resumed.then(() => room)
  }

  // Bytes that arrive while the client takes the last chunk are delivered together. A slow client stops the reading, which
  // also pauses the idle timeout.
  private async read(reader: ReadableStreamBYOBReader, pieces: Pieces): Promise<void> {
    const { action } = this
    let buffer = new Uint8Array(CHUNK_BYTES)
    for (;;) {
      const { done, value } = await reader.read(buffer)
      if (this.fault !== 0) throw new Error('aborted')
      if (done || value === undefined) return
      pieces.add(value as Bytes)
      if (pieces.room !== undefined || this.resumed !== undefined) {
        this.phase(0, 0)
        await this.untilResumed()
        if (pieces.room !== undefined) await this.orAborted(pieces.room)
        await this.untilResumed()
        if (this.fault !== 0) throw new Error('aborted')
      }
      this.phase(action.idleMs, FAULT_IDLE)
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

  // Starts the timeout of the next phase, bounded by the total timeout. A timer that fires too early is set again, which
  // is cheaper than a new timer for every chunk.
  private phase(ms: number, fault: number): void {
    const end = ms === 0 ? Number.POSITIVE_INFINITY : Date.now() + ms
    const total = this.endMs < end
    this.phaseEndMs = total ? this.endMs : end
    this.phaseFault = total ? FAULT_TOTAL : fault
    if (this.timer === null || this.phaseEndMs < this.timerMs) this.arm()
  }

  private arm(): void {
    clearTimeout(this.timer)
    this.timer = null
    this.timerMs = this.phaseEndMs
    if (Number.isFinite(this.phaseEndMs)) this.timer = setTimeout(() => this.ring(), this.phaseEndMs - Date.now())
  }

  private ring(): void {
    this.timer = null
    if (Date.now() >= this.phaseEndMs) this.abort(this.phaseFault)
    else this.arm()
  }
}

function failed(fault: number): Answer {
  return { fault, status: 0, headers: [], body: NO_BYTES }
}

/** Returns the named header fields in the wire's form. */
export function picked(headers: Headers, names: string[]): Fields {
  const fields: Fields = []
  for (const name of names) {
    const value = headers.get(name)
    if (value !== null) fields.push(name, value)
  }
  return fields
}

/** Converts header fields from the wire's form to the platform's. Repeated names stay repeated. */
export function httpHeaders(fields: Fields): HeadersInit {
  // Measured: a record is faster than a Headers object.
  const record: Record<string, string> = {}
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (name in record) return repeatedHeaders(fields)
    record[name] = fields[i + 1] as string
  }
  return record
}

function repeatedHeaders(fields: Fields): Headers {
  const headers = new Headers()
  for (let i = 0; i < fields.length; i += 2) headers.append(fields[i] as string, fields[i + 1] as string)
  return headers
}
