import {
  ACTION_APPEND,
  ACTION_CALL,
  ACTION_CANCEL,
  ACTION_CLOSE,
  ACTION_FETCH,
  ACTION_FOLLOW,
  ACTION_FORWARD,
  ACTION_JOIN,
  ACTION_KEEP,
  ACTION_LAND,
  ACTION_LOG,
  ACTION_OPEN,
  ACTION_PAUSE,
  ACTION_PIN,
  ACTION_PUBLISH,
  ACTION_READ,
  ACTION_READ_BODY,
  ACTION_RESPOND,
  ACTION_RESUME,
  ACTION_SEND,
  ACTION_SUPPLY,
  ACTION_UNSEAL,
  ACTION_WAIT,
  ACTION_WRITE,
  type Action,
  ADDRESS_HEADER,
  ATTACHED_BUFFER,
  type Bytes,
  type Configured,
  EVENT_BODY,
  EVENT_CHUNK,
  EVENT_DISCONNECT,
  EVENT_END,
  EVENT_FAULT,
  EVENT_FLIGHT,
  EVENT_HEAD,
  EVENT_REPLY,
  EVENT_REQUEST,
  EVENT_RESPONSE,
  EVENT_STORED,
  EVENT_SUPPLIED,
  EVENT_TIMER,
  type Event,
  FAILED_STATUS,
  FAULT_CONNECT,
  type Headers as Fields,
  FLIGHT_FAILED,
  FLIGHT_MORE,
  MalformedError,
  NO_BYTES,
  OUTCOME_ABSENT,
  OUTCOME_FAILED,
  OUTCOME_JOINED,
  OUTCOME_OK,
  OUTCOME_OVERLOADED,
  OUTCOME_TOO_LARGE,
  OUTCOME_UNSUPPORTED,
  type Part,
  WHERE_COLO,
  WHERE_KV,
  WHERE_MEMORY,
} from './abi.ts'
import { drain, joined, lengthHint, readBody, readDeclared, undrained } from './body.ts'
import { callObject, isOverloaded } from './calls.ts'
import { clock } from './clock.ts'
import { Seat } from './flight.ts'
import type { Isolate } from './isolate.ts'
import { Kept } from './kept.ts'
import { type LastResort, UNCONFIGURED } from './lastresort.ts'
import { logFailure } from './log.ts'
import { Outstanding } from './outstanding.ts'
import { Randomness } from './randomness.ts'
import { readKV, writeKV } from './storage.ts'
import { CallerStream, GrowingBuffer } from './stream.ts'
import { unseal } from './unseal.ts'
import { httpHeaders, picked, Upstream } from './upstream.ts'

const NO_FIELDS: Fields = []
const ID_BYTES = 16
const SEED_BYTES = 16
const MAX_BEHIND_BYTES = 1 << 20

const randomness = new Randomness()
const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** The part of the platform's execution context that an exchange uses. */
export type Lifetime = Pick<ExecutionContext, 'waitUntil'>

/** Serves one request: the core decides, this class carries out its actions. */
export function serve(isolate: Isolate, request: Request, env: Env, ctx: Lifetime): Response | Promise<Response> {
  const id = `req_${randomness.take(ID_BYTES).toHex()}`
  let configured: Configured
  try {
    configured = isolate.core.start(env)
  } catch (error) {
    logFailure('configure_failed', { requestId: id }, error)
    return lastResort(UNCONFIGURED, request.method, id)
  }
  if (configured.error !== '') {
    logFailure('misconfigured', { requestId: id, message: configured.error })
    return lastResort(configured, request.method, id)
  }
  isolate.memory.bound(configured)
  isolate.pinned.bound(configured.pinnedEntries)
  return new Exchange(isolate, configured, request, env, id).run(ctx, randomness.take(SEED_BYTES))
}

/** Steps the core with the result of an action. */
type Answer = (kind: number, code: number, data?: Bytes, headers?: Fields) => void

/**
 * The loop of one exchange: step, carry out the actions, step with their results. Events are stepped one at a time in
 * order of arrival. Results available immediately (memory, buffers) are stepped in the same turn.
 */
class Exchange {
  private readonly isolate: Isolate
  private readonly configured: Configured
  private readonly request: Request
  private readonly env: Env
  private readonly id: string
  private readonly address: string

  private readonly state = new Kept()
  // The key of the pinned entry; empty: none.
  private pinned = ''
  private readonly queue: Event[] = []
  private readonly buffers = new Map<number, Bytes>()
  private readonly appended = new Map<number, GrowingBuffer>()
  private readonly outstanding = new Outstanding()
  // Work without a result that must still finish.
  private background = 0
  // Settled when the request body has been read; undefined if no read has started.
  private reading: Promise<void> | undefined
  private stepping = false
  private watching = false
  private failed = false

  private seat: Seat | undefined
  // The buffer that the exchange publishes.
  private published = 0

  private response: Response | undefined
  private stream: CallerStream | undefined
  private resolve: ((response: Response) => void) | undefined
  private finish: (() => void) | undefined
  private ctx: Lifetime | undefined

  constructor(isolate: Isolate, configured: Configured, request: Request, env: Env, id: string) {
    this.isolate = isolate
    this.configured = configured
    this.request = request
    this.env = env
    this.id = id
    // At the edge the platform overwrites the client's value. In local workerd a client can set it, because Miniflare
    // sets it only if it is missing.
    this.address = request.headers.get('cf-connecting-ip') ?? ''
  }

  run(ctx: Lifetime, seed: Bytes): Response | Promise<Response> {
    this.ctx = ctx
    this.push(EVENT_REQUEST, 0, 0, seed, this.requestFields())
    const { response } = this
    const unread = response && this.unread()
    if (response !== undefined && unread === undefined) return response
    return new Promise((resolve) => {
      this.resolve = resolve
      if (response !== undefined && unread !== undefined) void this.respondAfter(unread, resolve, response)
    })
  }

  // Keeps the exchange alive until it ends, even after the response and after the client disconnects. Called when the first
  // work starts that others must learn about; a request that only reads its body and memory ends with its client.
  private outlive(): void {
    if (this.finish !== undefined) return
    this.ctx?.waitUntil(
      new Promise<void>((resolve) => {
        this.finish = resolve
      }),
    )
  }

  private requestFields(): Fields {
    const { method, url, headers } = this.request
    const fields = picked(headers, this.configured.requestHeaders)
    const { path, query } = pathAndQuery(url)
    fields.push(':id', this.id, ':method', method, ':path', path, ':query', query, ':address', this.address)
    return fields
  }

  private push(kind: number, id: number, code: number, data = NO_BYTES, headers = NO_FIELDS): void {
    this.queue.push({ kind, id, code, headers, data })
    if (this.stepping) return
    this.stepping = true
    for (let event = this.queue.shift(); event !== undefined; event = this.queue.shift()) this.advance(event)
    this.stepping = false
    this.endIfOver()
  }

  private advance(event: Event): void {
    // The action was canceled while its result waited for its turn.
    if (event.id !== 0 && this.outstanding.find(event.id) === undefined) return
    if (event.kind !== EVENT_HEAD && event.kind !== EVENT_CHUNK) this.outstanding.remove(event.id)
    if (this.failed) return
    try {
      const attached = this.buffer(ATTACHED_BUFFER)
      const { core, pinned, shared } = this.isolate
      const entry = this.pinned === '' ? NO_BYTES : pinned.read(this.pinned)
      const out = core.step(clock.now(), shared, this.state.bytes, attached, entry, event, this.seat?.waiting)
      if (out.shared !== undefined) this.isolate.shared = out.shared.slice()
      if (out.pinned !== undefined) pinned.write(this.pinned, out.pinned, out.pinnedKeepMs)
      this.state.replace(out.state)
      for (const action of out.actions) this.perform(action)
    } catch (error) {
      this.fail(error)
    }
  }

  // The step failed, and with it the exchange. Actions in flight may finish, but their results are ignored.
  private fail(error: unknown): void {
    this.failed = true
    logFailure('step_failed', { requestId: this.id }, error)
    this.land(FLIGHT_FAILED, NO_BYTES)
    this.outstanding.cancelAll()
    if (this.response === undefined) this.respond(lastResort(this.configured, this.request.method, this.id))
    else this.stream?.giveUp()
  }

  private isOver(): boolean {
    return this.outstanding.size === 0 && this.background === 0 && this.response !== undefined
  }

  private endIfOver(): void {
    // Without actions in flight or a response, no further event can arrive.
    if (this.outstanding.size === 0 && this.response === undefined) this.fail('the core never responded to the caller')
    if (!this.isOver()) return
    this.land(FLIGHT_FAILED, NO_BYTES)
    this.finish?.()
  }

  private respond(response: Response): void {
    if (this.response !== undefined) throw new Error('a second response')
    this.response = response
    if (this.resolve === undefined) return
    const unread = this.unread()
    if (unread === undefined) this.resolve(response)
    else void this.respondAfter(unread, this.resolve, response)
  }

  // The rest of the request body, after the core canceled its read or never started one.
  private unread(): Promise<void> | undefined {
    if (this.reading !== undefined) return this.reading
    const body = undrained(this.request)
    return body && drain(body.getReader({ mode: 'byob' }))
  }

  private async respondAfter(
    unread: Promise<void>,
    resolve: (response: Response) => void,
    response: Response,
  ): Promise<void> {
    this.background++
    await unread
    resolve(response)
    this.background--
    this.endIfOver()
  }

  // Work without a result.
  private async inBackground(code: string, work: Promise<unknown>): Promise<void> {
    this.outlive()
    this.background++
    try {
      await work
    } catch (error) {
      logFailure(code, { requestId: this.id }, error)
    }
    this.background--
    this.endIfOver()
  }

  private perform(action: Action): void {
    switch (action.kind) {
      case ACTION_READ_BODY:
        this.reading = this.start(action, (answer) => this.readBody(action, answer))
        break
      case ACTION_SUPPLY:
        this.answer(action, EVENT_SUPPLIED, OUTCOME_OK, this.buffer(action.buffer))
        break
      case ACTION_UNSEAL:
        void this.start(action, (answer) => this.unseal(action, this.buffer(action.buffer), answer))
        break
      case ACTION_KEEP:
        this.buffers.set(action.buffer, action.data)
        this.appended.delete(action.buffer)
        break
      case ACTION_APPEND:
        this.append(action)
        break
      case ACTION_READ:
        this.read(action)
        break
      case ACTION_WRITE:
        this.write(action)
        break
      case ACTION_JOIN:
        this.join(action)
        break
      case ACTION_FOLLOW:
        this.watch()
        void this.start(action, (answer) => this.follow(answer))
        break
      case ACTION_PUBLISH:
        this.publish(action)
        break
      case ACTION_LAND:
        this.land(action.code, action.data)
        break
      case ACTION_CALL:
        if (action.id === 0) void this.inBackground('call_failed', this.callObject(action))
        else void this.start(action, (answer) => this.call(action, answer))
        break
      case ACTION_FETCH:
        this.fetch(action)
        break
      case ACTION_RESPOND:
        this.respond(httpResponse(this.request.method, action.code, action.headers, this.body(action.body)))
        break
      case ACTION_OPEN:
        this.open(action)
        break
      case ACTION_SEND:
        this.stream?.send(this.body(action.body))
        break
      case ACTION_CLOSE:
        this.stream?.close()
        break
      case ACTION_WAIT:
        this.wait(action)
        break
      case ACTION_CANCEL:
        this.outstanding.cancel(action.id)
        break
      case ACTION_PAUSE:
        this.outstanding.find(action.id)?.upstream?.pause()
        break
      case ACTION_RESUME:
        this.outstanding.find(action.id)?.upstream?.resume()
        break
      case ACTION_LOG:
        log(action)
        break
      case ACTION_PIN:
        this.pinned = action.key
        break
      case ACTION_FORWARD:
        void this.start(action, (answer) => this.forward(action, answer))
        break
      default:
        throw new MalformedError()
    }
  }

  private open({ code, headers, data }: Action): void {
    this.outlive()
    this.background++
    this.stream = new CallerStream(
      data,
      () => this.push(EVENT_DISCONNECT, 0, 0),
      () => {
        this.background--
        this.endIfOver()
      },
    )
    this.respond(new Response(this.stream.body, { status: code, headers: httpHeaders(headers) }))
  }

  private append({ buffer, data }: Action): void {
    const held = this.appended.get(buffer) ?? new GrowingBuffer(this.buffer(buffer))
    this.appended.set(buffer, held)
    this.buffers.set(buffer, held.append(data))
    if (buffer === this.published) this.seat?.changed()
  }

  // Delivers the result in the same turn, after the other actions of the step.
  private answer({ id }: Action, kind: number, code: number, data = NO_BYTES): void {
    this.outstanding.add(id)
    this.push(kind, id, code, data)
  }

  // The work always settles later and never rejects. The result of a canceled action is dropped: its ID may have been
  // reused.
  private start({ kind: started, id, buffer }: Action, work: (answer: Answer) => Promise<void>): Promise<void> {
    const pending = this.outstanding.add(id)
    if (started !== ACTION_READ_BODY) this.outlive()
    return work((kind, code, data, headers) => {
      if (this.outstanding.find(id) !== pending) return
      if (kind === EVENT_BODY && data !== undefined) this.buffers.set(buffer, data)
      this.push(kind, id, code, data, headers)
    })
  }

  private wait(action: Action): void {
    this.outlive()
    const timer = setTimeout(() => this.push(EVENT_TIMER, action.id, OUTCOME_OK), action.keepMs)
    this.outstanding.add(action.id, () => clearTimeout(timer))
  }

  private async readBody({ limit }: Action, answer: Answer): Promise<void> {
    let body: Bytes | undefined
    try {
      const declared = readDeclared(this.request, limit)
      body =
        declared === undefined
          ? await readBody(this.request.body, limit, lengthHint(this.request.headers))
          : new Uint8Array(await declared)
    } catch {
      this.reading = undefined
      return answer(EVENT_BODY, OUTCOME_FAILED)
    }
    this.reading = undefined
    if (body === undefined) return answer(EVENT_BODY, OUTCOME_TOO_LARGE)
    answer(EVENT_BODY, OUTCOME_OK, body)
  }

  // The cause of a failure is neither passed to the core nor logged.
  private async unseal({ key, name }: Action, sealed: Bytes, answer: Answer): Promise<void> {
    const plain = await unseal(key, name, sealed)
    if (plain === undefined) answer(EVENT_SUPPLIED, OUTCOME_FAILED)
    else answer(EVENT_SUPPLIED, OUTCOME_OK, plain)
  }

  private read(action: Action): void {
    const { where, key } = action
    const found = where & WHERE_MEMORY ? this.isolate.memory.read(key) : undefined
    const colo = (where & WHERE_COLO) !== 0 && this.isolate.colo.available
    if (found !== undefined) this.answer(action, EVENT_STORED, OUTCOME_OK, found)
    else if (colo) void this.start(action, (answer) => this.readColo(action, answer))
    else if (where & WHERE_KV) void this.start(action, (answer) => this.readKV(action, answer))
    else this.answer(action, EVENT_STORED, where & WHERE_MEMORY ? OUTCOME_ABSENT : OUTCOME_UNSUPPORTED)
  }

  private async readColo(action: Action, answer: Answer): Promise<void> {
    const { key, where } = action
    const value = await this.isolate.colo.read(key)
    if (value !== undefined) this.found(action, value, answer)
    else if (where & WHERE_KV) await this.readKV(action, answer)
    else answer(EVENT_STORED, OUTCOME_ABSENT)
  }

  private async readKV(action: Action, answer: Answer): Promise<void> {
    let value: Bytes | null
    try {
      value = await within(action.limit, readKV(this.env.KV, action.key, this.configured.kvCacheSeconds))
    } catch (error) {
      logFailure('kv_read_failed', { requestId: this.id }, error)
      return answer(EVENT_STORED, OUTCOME_FAILED)
    }
    if (value === null) return answer(EVENT_STORED, OUTCOME_ABSENT)
    this.found(action, value, answer)
  }

  private found({ key, keepMs }: Action, value: Bytes, answer: Answer): void {
    if (keepMs > 0) this.isolate.memory.write(key, value, keepMs)
    answer(EVENT_STORED, OUTCOME_OK, value)
  }

  private write({ key, where, keepMs, ttlSeconds, body }: Action): void {
    const value = this.body(body)
    const { memory, colo } = this.isolate
    if (where & WHERE_MEMORY) memory.write(key, value, keepMs)
    if (where & WHERE_COLO && colo.available) void this.inBackground('', colo.write(key, value, ttlSeconds))
    if (where & WHERE_KV) void this.inBackground('kv_write_failed', writeKV(this.env.KV, key, value, ttlSeconds))
  }

  private join(action: Action): void {
    const { key, name } = action
    const found = key === '' ? undefined : this.isolate.memory.read(key)
    if (found !== undefined) {
      this.answer(action, EVENT_STORED, OUTCOME_OK, found)
      return
    }
    this.outlive()
    this.seat = new Seat(this.isolate.flights, name)
    this.answer(action, EVENT_STORED, this.seat.leads ? OUTCOME_ABSENT : OUTCOME_JOINED)
  }

  // A slow client slows its own exchange only.
  private async follow(answer: Answer): Promise<void> {
    await this.stream?.drained
    const { seat } = this
    if (seat === undefined) return
    const { code, data } = await seat.next()
    if (code !== FLIGHT_MORE) this.land(code, data)
    answer(EVENT_FLIGHT, code, data)
  }

  private publish({ buffer, limit, body }: Action): void {
    this.published = buffer
    this.seat?.publish(this.body(body), () => this.buffer(buffer), limit)
  }

  private land(code: number, data: Bytes): void {
    this.seat?.leave(code, data)
    this.seat = undefined
    this.published = 0
  }

  private callObject({ class: objectClass, name, region, data }: Action): Promise<Bytes> {
    return callObject(this.env, objectClass, name, region, data)
  }

  private async call(action: Action, answer: Answer): Promise<void> {
    let reply: Bytes
    try {
      reply = await this.callObject(action)
    } catch (error) {
      logFailure('call_failed', { requestId: this.id }, error)
      return answer(EVENT_REPLY, isOverloaded(error) ? OUTCOME_OVERLOADED : OUTCOME_FAILED)
    }
    answer(EVENT_REPLY, OUTCOME_OK, reply)
  }

  // The signal costs a tenth of a bare proxy's CPU time. So the exchange asks for it only before a streamed fetch, which a
  // disconnect cuts, and after a failed one, before a retry.
  private watch(): void {
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

  private fetch(action: Action): void {
    this.outlive()
    if (action.stream > 0) this.watch()
    const { id } = action
    // A late result of a canceled fetch is dropped: its ID and buffer may have been reused.
    const wanted = () => this.outstanding.find(id) === pending
    const upstream = new Upstream(action, this.configured.responseHeaders, {
      head: (status, headers) => {
        if (wanted()) this.push(EVENT_HEAD, id, status, NO_BYTES, headers)
      },
      chunk: (data) => {
        if (wanted()) this.push(EVENT_CHUNK, id, 0, data)
        return this.room()
      },
    })
    const pending = this.outstanding.add(id, () => upstream.abort(FAULT_CONNECT), upstream)
    void this.send(upstream, action, wanted)
  }

  private async send(upstream: Upstream, action: Action, wanted: () => boolean): Promise<void> {
    const { id } = action
    const sent = this.body(action.body)
    action.body = [] // its parts would keep a replaced core's memory
    const { fault, status, headers, body } = await upstream.send(sent)
    if (!wanted()) return
    if (fault === 0 && status === 0) return this.push(EVENT_END, id, 0)
    if (this.response === undefined && (fault !== 0 || status >= FAILED_STATUS)) this.watch()
    if (fault !== 0) return this.push(EVENT_FAULT, id, fault)
    this.buffers.set(action.buffer, body)
    this.push(EVENT_RESPONSE, id, status, body, headers)
  }

  // Followers do not wait for the leader's client, unless it is far behind.
  private room(): Promise<void> | undefined {
    const { stream } = this
    if (stream === undefined || ((this.seat?.waiting ?? 0) > 0 && stream.behind < MAX_BEHIND_BYTES)) return undefined
    return stream.drained
  }

  private async forward({ id, headers }: Action, answer: Answer): Promise<void> {
    let response: Response
    try {
      response = await this.env.CONTROL.fetch(forwarded(this.request, headers, this.address))
    } catch (error) {
      logFailure('control_unreachable', { requestId: this.id }, error)
      return answer(EVENT_FAULT, FAULT_CONNECT)
    }
    if (this.outstanding.find(id) === undefined) return
    this.respond(response)
    answer(EVENT_RESPONSE, response.status)
  }

  private buffer(number: number): Bytes {
    return this.buffers.get(number) ?? NO_BYTES
  }

  // A body of one buffer is the buffer itself; any other is a copy.
  private body(parts: Part[]): Bytes {
    const [first] = parts
    if (first === undefined) return NO_BYTES
    if (parts.length > 1) return joined(parts.map(({ buffer, data }) => (buffer === 0 ? data : this.buffer(buffer))))
    return first.buffer === 0 ? first.data.slice() : this.buffer(first.buffer)
  }
}

// Avoids the URL class, which normalizes the path: the core gets it as it was sent.
function pathAndQuery(url: string): { path: string; query: string } {
  const authority = url.indexOf('://') + 3
  const queryAt = url.indexOf('?', authority)
  const end = queryAt < 0 ? url.length : queryAt
  const pathAt = url.indexOf('/', authority)
  const path = pathAt < 0 || pathAt > end ? '/' : url.slice(pathAt, end)
  return { path, query: queryAt < 0 ? '' : url.slice(queryAt + 1) }
}

function forwarded(request: Request, fields: Fields, address: string): Request {
  const headers = new Headers(request.headers)
  for (let i = 0; i < fields.length; i += 2) headers.set(fields[i] as string, fields[i + 1] as string)
  if (address === '') headers.delete(ADDRESS_HEADER)
  else headers.set(ADDRESS_HEADER, address)
  return new Request(request, { headers, redirect: 'manual' })
}

// The platform drops the body of a response to HEAD, and its length too unless the header is set.
function httpResponse(method: string, status: number, fields: Fields, body: Bytes): Response {
  if (method !== 'HEAD') return new Response(body.length > 0 ? body : null, { status, headers: httpHeaders(fields) })
  const headers = new Headers(httpHeaders(fields))
  headers.set('content-length', String(body.length))
  return new Response(null, { status, headers })
}

function lastResort(
  { lastResortStatus, lastResortHeaders, lastResortBody }: LastResort,
  method: string,
  id: string,
): Response {
  const [before, after] = lastResortBody
  const body = joined([before, encoder.encode(id) as Bytes, after])
  const response = httpResponse(method, lastResortStatus, lastResortHeaders, body)
  response.headers.set('x-request-id', id)
  return response
}

// Returns null if the work takes longer than the limit; 0 is no limit.
function within<T>(limitMs: number, work: Promise<T>): Promise<T | null> {
  if (limitMs === 0) return work
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), limitMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function log({ code, data }: Action): void {
  const line = decoder.decode(data)
  if (code === 0) console.log(line)
  else console.error(line)
}
