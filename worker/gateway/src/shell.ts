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

// Rows per read of the delivery loop.
const DELIVERY_BATCH = 32

/** An object's one alarm. */
export interface Alarm {
  /** Sets the alarm to a time, unless it is already set to an earlier one. */
  atLatest(ms: number): void
  /** Marks the alarm as fired: none is set anymore. */
  rang(): void
}

/** The platform services that the shell uses, replaceable in tests. */
export interface Platform {
  storage: { kv: Pick<SyncKvStorage, 'get' | 'list' | 'put' | 'delete'>; transactionSync<T>(body: () => T): T }
  alarm: Alarm
  deliver(delivery: Delivery): Promise<void>
  /** Returns the response status, or 0 if there was none; never rejects. */
  post(post: Post): Promise<number>
  waitUntil(promise: Promise<void>): void
}

/** Runs the core's commands on one object's rows, without interpreting them. */
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

  /** Runs one command. It never awaits, so no other command can run between its reads and writes. */
  call(command: Bytes): Bytes {
    const out = this.run(command)
    if (out.deliver) {
      // If this object is evicted from memory, only an alarm resumes delivery.
      this.platform.alarm.atLatest(clock.now() + REDELIVER_MS)
      this.platform.waitUntil(this.deliver())
    }
    this.postAll(out.posts)
    return out.reply
  }

  /** Handles the alarm: runs an empty command, then delivers the outbox. The platform retries if this throws. */
  async ring(): Promise<void> {
    this.platform.alarm.rang()
    const { posts } = this.run(NO_BYTES)
    // Not awaited: the platform fires no other alarm until this handler returns.
    this.postAll(posts)
    await this.deliver()
  }

  // A trap here rejects the call before any write.
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

  // Writes without an await between them commit together, including the alarm.
  private commit(out: ObjectOutput): void {
    const { storage, alarm } = this.platform
    const write = () => {
      for (const { key, value } of out.puts) storage.kv.put(key, value)
      for (const key of out.deletes) storage.kv.delete(key)
    }
    // A single write is atomic, so the common case needs no transaction.
    if (out.puts.length + out.deletes.length > 1) storage.transactionSync(write)
    else write()
    if (out.alarmMs > 0) alarm.atLatest(out.alarmMs)
  }

  // One loop at a time keeps rows in order; a second caller waits for the first.
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

  // Waits at least a microtask, so that the reply is sent first. If reporting the result to the object fails, the
  // reducer's alarm notices.
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

  // Returns false when the outbox is empty.
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

/** A FIFO counting semaphore. */
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
