import {
  type Bytes,
  type Delivery,
  NO_BYTES,
  type ObjectInput,
  type ObjectOutput,
  OUTBOX_END,
  OUTBOX_PREFIX,
  POSTS_AT_ONCE,
  type Post,
  type Range,
  REDELIVER_MS,
  type Row,
  readDelivery,
  Writer,
  writePosted,
} from './abi.ts'
import { clock } from './clock.ts'
import type { Isolate } from './isolate.ts'
import { logFailure } from './log.ts'

// Rows read at once by the delivery loop.
const DELIVERY_BATCH = 32

/** An object's one alarm. */
export interface Alarm {
  /** Makes the alarm ring at that time, unless it already rings earlier. */
  atLatest(ms: number): void
  /** The alarm is ringing: none stands any more. */
  rang(): void
}

/** What the shell uses of the platform, so that a test can stand in for each. */
export interface Platform {
  storage: { kv: Pick<SyncKvStorage, 'get' | 'list' | 'put' | 'delete'>; transactionSync<T>(body: () => T): T }
  alarm: Alarm
  deliver(delivery: Delivery): Promise<void>
  /** Gives the answer's status, 0 if there is none; never rejects. */
  post(post: Post): Promise<number>
  waitUntil(promise: Promise<void>): void
}

/** Runs the core's commands on one object's rows. Knows nothing of what they mean. */
export class Shell {
  private readonly isolate: Isolate
  private readonly env: object
  private readonly objectClass: number
  private readonly name: string
  private readonly platform: Platform
  private delivering: Promise<void> | undefined
  private readonly turns = new Turns(POSTS_AT_ONCE)

  constructor(isolate: Isolate, env: object, objectClass: number, name: string, platform: Platform) {
    this.isolate = isolate
    this.env = env
    this.objectClass = objectClass
    this.name = name
    this.platform = platform
  }

  /** One command. Has no await: no other command can come between its reads and its writes. */
  call(command: Bytes): Bytes {
    const out = this.run(command)
    if (out.deliver) {
      // The rows outlive this object's memory only if something wakes it again.
      this.platform.alarm.atLatest(clock.now() + REDELIVER_MS)
      this.platform.waitUntil(this.deliver())
    }
    this.postAll(out.posts)
    return out.reply
  }

  /** The alarm: an empty command, then whatever the outbox holds. The platform repeats it if it throws. */
  async ring(): Promise<void> {
    this.platform.alarm.rang()
    const { posts } = this.run(NO_BYTES)
    // Not awaited: until the alarm is over, the platform rings no other.
    this.postAll(posts)
    await this.deliver()
  }

  // A trap in here rejects the call before anything is written.
  private run(command: Bytes): ObjectOutput {
    const { core } = this.isolate
    core.start(this.env)
    const input: ObjectInput = {
      nowMs: clock.now(),
      class: this.objectClass,
      name: this.name,
      command,
      round: 0,
      rows: [],
    }
    this.read(core.reads(input).ranges, input.rows)
    let out = core.apply(input)
    if (out.ranges.length > 0) {
      this.read(out.ranges, input.rows)
      input.round = 1
      out = core.apply(input)
    }
    this.commit(out)
    return out
  }

  private read(ranges: Range[], rows: Row[]): void {
    const { kv } = this.platform.storage
    for (const { start, end, limit } of ranges) {
      if (end === '') {
        const value = kv.get<Bytes>(start)
        if (value !== undefined) rows.push({ key: start, value })
      } else if (limit > 0) {
        for (const [key, value] of kv.list<Bytes>({ start, end, limit })) rows.push({ key, value })
      }
    }
  }

  // The alarm is part of the transaction too: writes with no await between them commit together.
  private commit(out: ObjectOutput): void {
    const { storage, alarm } = this.platform
    const write = () => {
      for (const { key, value } of out.puts) storage.kv.put(key, value)
      for (const key of out.deletes) storage.kv.delete(key)
    }
    // One write is whole by itself: the usual case does not pay for a transaction.
    if (out.puts.length + out.deletes.length > 1) storage.transactionSync(write)
    else write()
    if (out.alarmMs > 0) alarm.atLatest(out.alarmMs)
  }

  // Only one loop at a time: rows go out in order, and a second caller waits for the first's.
  private deliver(): Promise<void> {
    this.delivering ??= this.deliverAll()
    return this.delivering
  }

  private async deliverAll(): Promise<void> {
    try {
      while (await this.deliverBatch());
    } catch (error) {
      this.platform.alarm.atLatest(clock.now() + REDELIVER_MS)
      logFailure('delivery_failed', { object: this.name }, error)
    } finally {
      this.delivering = undefined
    }
  }

  private postAll(posts: Post[]): void {
    for (const post of posts) this.platform.waitUntil(this.post(post))
  }

  // At least a microtask passes before anything is sent: the reply goes first. If the object cannot take what
  // came of it, the reducer's alarm finds out.
  private async post(post: Post): Promise<void> {
    await this.turns.take()
    const status = await this.platform.post(post)
    this.turns.give()
    const w = new Writer()
    writePosted(w, post.id, status)
    try {
      this.call(w.written())
    } catch (error) {
      logFailure('post_outcome_lost', { object: this.name }, error)
    }
  }

  // False once there was nothing left to deliver.
  private async deliverBatch(): Promise<boolean> {
    const { kv } = this.platform.storage
    const rows = [...kv.list<Bytes>({ start: OUTBOX_PREFIX, end: OUTBOX_END, limit: DELIVERY_BATCH })]
    for (const [key, value] of rows) {
      await this.platform.deliver(readDelivery(value))
      kv.delete(key)
    }
    return rows.length > 0
  }
}

/** So many may have one at the same time; the others wait, first come, first served. */
class Turns {
  private free: number
  private readonly waiting: (() => void)[] = []

  constructor(free: number) {
    this.free = free
  }

  async take(): Promise<void> {
    if (this.free === 0) return await new Promise<void>((resolve) => this.waiting.push(resolve))
    this.free--
  }

  give(): void {
    const next = this.waiting.shift()
    if (next === undefined) this.free++
    else next()
  }
}
