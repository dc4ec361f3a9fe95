import {
  type Action,
  type Bytes,
  EVENT_FLIGHT,
  EVENT_STORED,
  FLIGHT_FAILED,
  FLIGHT_MORE,
  NO_BYTES,
  OUTCOME_ABSENT,
  OUTCOME_JOINED,
  OUTCOME_OK,
  OUTCOME_UNSUPPORTED,
  WHERE_COLO,
  WHERE_KV,
} from './abi.ts'
import type { Buffers } from './buffers.ts'
import type { Colo } from './colo.ts'
import type { MemoryCache } from './memory.ts'
import type { CallerResponse } from './response.ts'
import type { Answer, Tasks } from './tasks.ts'
import type { Working } from './working.ts'

// The platform can end a request's work without notice, for example 30 s after its client has disconnected. Its
// flight would then never land. Therefore, a leader gives a sign of life at each interval, and followers look for it.
const SIGN_MS = 1000
const DEAD_LOOKS = 4
// Pauses between a follower's looks for new bytes. A follower that has waited long pauses for an eighth of that time, so
// it is at most an eighth later than the leader, and a long wait takes few timers.
const FIRST_PAUSE_MS = 1
const PAUSES = 8
const LONGEST_PAUSE_MS = 50

/** What a follower reads: bytes, or the end of the flight. */
export interface Piece {
  code: number
  data: Bytes
}

/**
 * A request that several exchanges of the isolate share; core/abi/wire.schema defines it. It holds no I/O object of
 * any request, and no request resolves a promise of another: see Tasks.queue. Each looks with its own timers, which end
 * with it.
 */
export class Flight {
  followers = 0
  private head = NO_BYTES
  private body: () => Bytes = () => NO_BYTES
  private limit = Number.POSITIVE_INFINITY
  private end: Piece | undefined
  /** The number of signs of life that the leader has given. */
  signs = 0

  /** Reports whether an exchange can still join. */
  get open(): boolean {
    return this.end === undefined && this.body().length <= this.limit
  }

  get landed(): boolean {
    return this.end !== undefined
  }

  publish(head: Bytes, body: () => Bytes, limit: number): void {
    this.head = head
    this.body = body
    this.limit = limit
  }

  /** Only the first call has an effect. A copy of the body is kept for followers that have not read all of it. */
  land(code: number, data: Bytes): void {
    if (this.end !== undefined) return
    this.end = { code, data }
    const rest = this.followers === 0 ? NO_BYTES : this.body().slice()
    this.body = () => rest
  }

  /** Returns the bytes after the first `read` bytes, or the end of the flight. If there is neither, returns undefined. */
  next(read: number): Piece | undefined {
    const body = this.body()
    if (this.head.length + body.length > read) return { code: FLIGHT_MORE, data: this.rest(body, read) }
    return this.end
  }

  private rest(body: Bytes, read: number): Bytes {
    if (read >= this.head.length) return body.slice(read - this.head.length)
    const all = new Uint8Array(this.head.length + body.length)
    all.set(this.head)
    all.set(body, this.head.length)
    return all.subarray(read)
  }
}

/** The flights of an isolate by name. */
export class Flights {
  private readonly named = new Map<string, Flight>()

  /** The flight to follow, or undefined. */
  find(name: string): Flight | undefined {
    const flight = this.named.get(name)
    if (flight?.open === true) return flight
    this.named.delete(name)
    return undefined
  }

  lead(name: string): Flight {
    const flight = new Flight()
    this.named.set(name, flight)
    return flight
  }

  /** Forgets a flight that has landed. */
  remove(name: string, flight: Flight): void {
    if (this.named.get(name) === flight) this.named.delete(name)
  }

  /** The number of exchanges that are waiting for another exchange's response. */
  get followers(): number {
    let count = 0
    for (const flight of this.named.values()) count += flight.followers
    return count
  }

  clear(): void {
    this.named.clear()
  }
}

/** An exchange's role in a flight: leader or follower. */
export class Seat {
  private read = 0
  private readonly timer: number | null
  private left = false
  // The last sign of the leader's life that a follower has seen, and how many looks have found no new one since.
  private seen = 0
  private silent = 0
  private readonly flights: Flights
  private readonly name: string
  private readonly flight: Flight
  readonly leads: boolean

  constructor(flights: Flights, name: string) {
    this.flights = flights
    this.name = name
    const found = flights.find(name)
    this.leads = found === undefined
    this.flight = found ?? flights.lead(name)
    if (!this.leads) this.flight.followers++
    // A follower's timer also shows the platform that its request is not stuck.
    this.timer = setInterval(() => (this.leads ? this.flight.signs++ : this.look()), SIGN_MS)
  }

  /** Ends the flight if its leader gives no sign of life. */
  private look(): void {
    const { flight } = this
    this.silent = flight.signs === this.seen ? this.silent + 1 : 0
    this.seen = flight.signs
    if (this.silent >= DEAD_LOOKS) flight.land(FLIGHT_FAILED, NO_BYTES)
  }

  /** The number of followers of the flight that the exchange leads. */
  get waiting(): number {
    return this.leads ? this.flight.followers : 0
  }

  publish(head: Bytes, body: () => Bytes, limit: number): void {
    this.flight.publish(head, body, limit)
  }

  /** Returns the next bytes as soon as there are any, or the end of the flight. */
  async next(): Promise<Piece> {
    for (let waitedMs = 0; !this.left; ) {
      const piece = this.flight.next(this.read)
      if (piece?.code === FLIGHT_MORE) this.read += piece.data.length
      if (piece !== undefined) return piece
      const pauseMs = Math.min(Math.max(FIRST_PAUSE_MS, waitedMs / PAUSES), LONGEST_PAUSE_MS)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      waitedMs += pauseMs
    }
    return { code: FLIGHT_FAILED, data: NO_BYTES }
  }

  /** A leader lands the flight. A follower leaves it. */
  leave(code: number, data: Bytes): void {
    clearInterval(this.timer)
    if (this.leads) {
      this.flight.land(code, data)
      this.flights.remove(this.name, this.flight)
      return
    }
    this.left = true
    this.flight.followers--
  }
}

/** The parts of an exchange that joining and following use. */
export interface Follower {
  readonly tasks: Tasks
  readonly buffers: Buffers
  readonly response: CallerResponse
}

/** Carries out an exchange's actions on flights. The exchange takes part in one flight at a time. */
export class FlightActions {
  private readonly isolate: {
    readonly memory: MemoryCache
    readonly flights: Flights
    readonly colo: Pick<Colo, 'available'>
  }
  private readonly exchange: Follower
  private readonly working: Working
  private seat: Seat | undefined

  constructor(isolate: FlightActions['isolate'], exchange: Follower, working: Working) {
    this.isolate = isolate
    this.exchange = exchange
    this.working = working
  }

  /** The number of followers of the flight that the exchange leads. */
  get waiting(): number {
    return this.seat?.waiting ?? 0
  }

  join(action: Action): void {
    const { key, name } = action
    const { memory, flights } = this.isolate
    const found = key === '' ? undefined : memory.read(key)
    if (found !== undefined) {
      this.exchange.tasks.answer(action, EVENT_STORED, OUTCOME_OK, found)
      return
    }
    this.working.outlive()
    this.seat = new Seat(flights, name)
    this.exchange.tasks.answer(action, EVENT_STORED, this.seat.leads ? this.absent(action.where) : OUTCOME_JOINED)
  }

  // The outcome for a leader that would look in these stores next.
  private absent(where: number): number {
    const some = where & WHERE_KV || (where & WHERE_COLO && this.isolate.colo.available)
    return some ? OUTCOME_ABSENT : OUTCOME_UNSUPPORTED
  }

  follow(action: Action): void {
    this.exchange.response.watch()
    void this.exchange.tasks.start(action, (answer) => this.next(answer))
  }

  // A slow client slows down only its own exchange.
  private async next(answer: Answer): Promise<void> {
    await this.exchange.response.stream?.drained
    const { seat } = this
    if (seat === undefined) return
    const { code, data } = await seat.next()
    if (code !== FLIGHT_MORE) this.land(code, data)
    answer(EVENT_FLIGHT, code, data)
  }

  publish(action: Action): void {
    const { buffer, body, limit } = action
    this.seat?.publish(this.exchange.buffers.body(body), () => this.exchange.buffers.get(buffer), limit)
  }

  /** Ends the exchange's role in its flight. */
  land(code: number, data: Bytes): void {
    this.seat?.leave(code, data)
    this.seat = undefined
  }
}
