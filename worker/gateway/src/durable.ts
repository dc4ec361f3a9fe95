import { DurableObject } from 'cloudflare:workers'
import { type Bytes, CLASS_KV, type Delivery } from './abi.ts'
import { StoredAlarm } from './alarm.ts'
import { callObject } from './call.ts'
import type { Isolate } from './isolate.ts'
import { logFailure } from './log.ts'
import { StoredObject } from './object.ts'
import { sendPost } from './post.ts'
import { writeKV } from './storage.ts'

/** A Durable Object of one class. Exchanges and deliveries call it by RPC, the control plane by fetch. */
export class PosternObject extends DurableObject<Env> {
  private readonly object: StoredObject

  constructor(ctx: DurableObjectState, env: Env, isolate: Isolate, objectClass: number) {
    super(ctx, env)
    this.object = new StoredObject(isolate, env, objectClass, nameOf(ctx), {
      storage: ctx.storage,
      alarm: new StoredAlarm(ctx),
      deliver: (delivery) => deliver(env, delivery),
      post: sendPost,
      waitUntil: (promise) => ctx.waitUntil(promise),
    })
  }

  call(command: Bytes): Bytes {
    return this.object.call(command)
  }

  override fetch(request: Request): Promise<Response> {
    return answer(nameOf(this.ctx), request, (command) => this.call(command))
  }

  override alarm(): Promise<void> {
    return this.object.ring()
  }
}

/** Returns an object's own name. Since March 2026, the platform provides it even when an alarm wakes the object. */
export function nameOf(ctx: DurableObjectState): string {
  const { name } = ctx.id
  if (name === undefined) throw new Error('this object was not created by name')
  return name
}

/** Handles a call over HTTP: the request body is the command, and the response body is the reply. */
export async function answer(object: string, request: Request, call: (command: Bytes) => Bytes): Promise<Response> {
  try {
    return new Response(call(new Uint8Array(await request.arrayBuffer())))
  } catch (error) {
    logFailure('command_failed', { object }, error)
    return new Response('the object could not run the command\n', { status: 503 })
  }
}

/** Delivers an outbox row. Resolves when the receiver has stored it. */
export async function deliver(env: Env, delivery: Delivery): Promise<void> {
  if (delivery.class === CLASS_KV) await writeKV(env.KV, delivery.name, delivery.data, 0)
  else await callObject(env, delivery)
}
