import { DurableObject } from 'cloudflare:workers'
import { type Bytes, CLASS_KV, type Delivery } from './abi.ts'
import { callObject } from './calls.ts'
import type { Isolate } from './isolate.ts'
import { logFailure } from './log.ts'
import { sendPost } from './post.ts'
import { type Alarm, Shell } from './shell.ts'
import { writeKV } from './storage.ts'

/** The platform's alarm. Its time is cached in memory, because reading costs a row read and setting a row write. */
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

/** A Durable Object of one class. Exchanges and deliveries call it by RPC, the control plane by fetch. */
export class PosternObject extends DurableObject<Env> {
  private readonly shell: Shell

  constructor(ctx: DurableObjectState, env: Env, isolate: Isolate, objectClass: number) {
    super(ctx, env)
    this.shell = new Shell(isolate, env, objectClass, nameOf(ctx), {
      storage: ctx.storage,
      alarm: new StoredAlarm(ctx),
      deliver: (delivery) => deliver(env, delivery),
      post: sendPost,
      waitUntil: (promise) => ctx.waitUntil(promise),
    })
  }

  call(command: Bytes): Bytes {
    return this.shell.call(command)
  }

  override fetch(request: Request): Promise<Response> {
    return answer(nameOf(this.ctx), request, (command) => this.call(command))
  }

  override alarm(): Promise<void> {
    return this.shell.ring()
  }
}

/** An object's own name, which the platform provides since March 2026, also when an alarm wakes it. */
export function nameOf(ctx: DurableObjectState): string {
  const { name } = ctx.id
  if (name === undefined) throw new Error('this object was not created by name')
  return name
}

/** A call over HTTP: the request body is the command, the response body the reply. */
export async function answer(object: string, request: Request, call: (command: Bytes) => Bytes): Promise<Response> {
  try {
    return new Response(call(new Uint8Array(await request.arrayBuffer())))
  } catch (error) {
    logFailure('command_failed', { object }, error)
    return new Response('the object could not run the command\n', { status: 503 })
  }
}

/** Delivers an outbox row. Resolves when the receiver has stored it. */
export async function deliver(env: Env, { class: objectClass, name, region, data }: Delivery): Promise<void> {
  if (objectClass === CLASS_KV) await writeKV(env.KV, name, data, 0)
  else await callObject(env, objectClass, name, region, data)
}
