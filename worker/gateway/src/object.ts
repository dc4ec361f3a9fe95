import { type Bytes, NO_BYTES, type ObjectInput, type ObjectOutput, type Range, REDELIVER_MS, type Row } from './abi.ts'
import { clock } from './clock.ts'
import type { Isolate } from './isolate.ts'
import { Outbox, type OutboxPlatform } from './outbox.ts'
import { type PostPlatform, Posts } from './post.ts'

type Storage = OutboxPlatform['storage'] & { transactionSync<T>(body: () => T): T }

/** The platform services that an object uses, replaceable in tests. */
export interface Platform extends OutboxPlatform, PostPlatform {
  storage: Storage
}

/** Runs the core's commands on one object's rows, without interpreting them. */
export class StoredObject {
  private readonly isolate: Isolate
  private readonly env: object
  private readonly objectClass: number
  private readonly name: string
  private readonly platform: Platform
  private readonly outbox: Outbox
  private readonly posts: Posts

  constructor(isolate: Isolate, env: object, objectClass: number, name: string, platform: Platform) {
    this.isolate = isolate
    this.env = env
    this.objectClass = objectClass
    this.name = name
    this.platform = platform
    this.outbox = new Outbox(name, platform)
    this.posts = new Posts(name, platform, (posted) => this.call(posted))
  }

  /** Runs one command. This never awaits, so no other command can run between its reads and writes. */
  call(command: Bytes): Bytes {
    const out = this.run(command)
    if (out.deliver) {
      // If this object is evicted from memory, only an alarm resumes delivery.
      this.platform.alarm.atLatest(clock.now() + REDELIVER_MS)
      this.platform.waitUntil(this.outbox.deliver())
    }
    this.posts.send(out.posts)
    return out.reply
  }

  /** Handles the alarm: runs an empty command, then delivers the outbox. The platform retries if this throws. */
  async ring(): Promise<void> {
    this.platform.alarm.rang()
    const { posts } = this.run(NO_BYTES)
    // The posts are not awaited, because the platform does not fire another alarm until this handler returns.
    this.posts.send(posts)
    await this.outbox.deliver()
  }

  // If the core traps here, the call fails before any write.
  private run(command: Bytes): ObjectOutput {
    const { engine } = this.isolate
    engine.start(this.env)
    const input: ObjectInput = {
      nowMs: clock.now(),
      class: this.objectClass,
      name: this.name,
      command,
      round: 0,
      rows: [],
    }
    this.read(engine.reads(input).ranges, input.rows)
    let out = engine.apply(input)
    if (out.ranges.length > 0) {
      this.read(out.ranges, input.rows)
      input.round = 1
      out = engine.apply(input)
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
    // A single write is atomic. The common case therefore needs no transaction.
    if (out.puts.length + out.deletes.length > 1) storage.transactionSync(write)
    else write()
    if (out.alarmMs > 0) alarm.atLatest(out.alarmMs)
  }
}
