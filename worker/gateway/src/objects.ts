import { DurableObject } from 'cloudflare:workers'
import {
  type Bytes,
  CLASS_KV,
  type Delivery,
  NO_BYTES,
  type ObjectInput,
  type ObjectOutput,
  OUTBOX_END,
  OUTBOX_PREFIX,
  type Range,
  REDELIVER_MS,
  type Row,
  readDelivery,
} from './abi.ts'
import { callObject } from './calls.ts'
import { clock } from './clock.ts'
import type { Isolate } from './isolate.ts'
import { writeKV } from './storage.ts'

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
    return out.reply
  }

  /** The alarm: an empty command, then whatever the outbox holds. The platform repeats it if it throws. */
  async ring(): Promise<void> {
    this.platform.alarm.rang()
    this.run(NO_BYTES)
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
      logFailure('delivery failed', this.name, error)
    } finally {
      this.delivering = undefined
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

/** The platform's alarm, with the time it stands at kept in memory: asking costs a read, setting a write. */
class StoredAlarm implements Alarm {
  private readonly ctx: DurableObjectState
  private standingMs = 0

  constructor(ctx: DurableObjectState) {
    this.ctx = ctx
    void ctx.blockConcurrencyWhile(async () => {
      this.standingMs = (await ctx.storage.getAlarm()) ?? 0
    })
  }

  atLatest(ms: number): void {
    if (this.standingMs !== 0 && this.standingMs <= ms) return
    this.standingMs = ms
    this.ctx.waitUntil(this.ctx.storage.setAlarm(ms))
  }

  rang(): void {
    this.standingMs = 0
  }
}

/** A Durable Object of one class: by RPC for exchanges and deliveries, by fetch for the control plane. */
export class PosternObject extends DurableObject<Env> {
  private readonly shell: Shell

  constructor(ctx: DurableObjectState, env: Env, isolate: Isolate, objectClass: number) {
    super(ctx, env)
    this.shell = new Shell(isolate, env, objectClass, nameOf(ctx), {
      storage: ctx.storage,
      alarm: new StoredAlarm(ctx),
      deliver: (delivery) => deliver(env, delivery),
      waitUntil: (promise) => ctx.waitUntil(promise),
    })
  }

  call(command: Bytes): Bytes {
    return this.shell.call(command)
  }

  override fetch(request: Request): Promise<Response> {
    return answer(request, (command) => this.call(command))
  }

  override alarm(): Promise<void> {
    return this.shell.ring()
  }
}

/** An object's own name, which the platform tells it since March 2026, also when an alarm wakes it. */
export function nameOf(ctx: DurableObjectState): string {
  const { name } = ctx.id
  if (name === undefined) throw new Error('this object was not made by name')
  return name
}

/** HTTP's form of a call: the body is the command, the answer's body the reply. */
export async function answer(request: Request, call: (command: Bytes) => Bytes): Promise<Response> {
  try {
    return new Response(call(new Uint8Array(await request.arrayBuffer())))
  } catch (error) {
    logFailure('command failed', '', error)
    return new Response('the object could not run the command\n', { status: 503 })
  }
}

/** Hands an outbox row on; a resolved promise means that the receiver has it. */
export async function deliver(env: Env, { class: objectClass, name, region, data }: Delivery): Promise<void> {
  if (objectClass === CLASS_KV) await writeKV(env.KV, name, data, 0)
  else await callObject(env, objectClass, name, region, data)
}

function logFailure(message: string, object: string, error: unknown): void {
  console.error(JSON.stringify({ message, object, error: String(error) }))
}
