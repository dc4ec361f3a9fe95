// The gateway with test control: the code of src/ on a virtual clock, virtual alarms and faulty bindings.
// Never shipped. Routes, all under /__test/, JSON in and out:
//
//   POST reset   {"env": {...}, "nowMs": n}   a fresh core with env over the deployment's texts; empty
//                                             memory; no faults, no alarms; the clock stands at nowMs
//   POST clock   {"nowMs": n, "inFlight": b}  moves the clock; alarms due until then ring at their time;
//                                             inFlight: exchanges that are under way are not waited for
//   POST settle                               waits for everything that goes on after responses
//   POST fault   {"kv", "objects", "deliveries"}   what is not named works: see Faults
//   POST corrupt                              flips a bit in all cached answers; empties host memory
//   POST log                                  the log since the last look, as text
//   GET  stats   /  POST stats                counts since the last reset of the counts  /  resets them
//   POST trap                                 the core's next step panics
//   POST evict                                empties host memory and the shared blob

import { DurableObject } from 'cloudflare:workers'
import module from '../../../build/core-panic.wasm'
import catalog from '../../../core/catalog/catalog.json'
import {
  type Bytes,
  CLASS_DIRECTORY,
  CLASS_KEY_METER,
  CLASS_LEDGER,
  type Event,
  NO_BYTES,
  REDELIVER_MS,
  type StepOutput,
} from '../src/abi.ts'
import { clock } from '../src/clock.ts'
import { Core } from '../src/core.ts'
import { serve } from '../src/exchange.ts'
import type { Isolate } from '../src/isolate.ts'
import { Memory } from '../src/memory.ts'
import { answer, deliver, nameOf } from '../src/objects.ts'
import { sendPost } from '../src/post.ts'
import { Shell } from '../src/shell.ts'
import { countCall, countedStorage, freezeKV, testEnv } from './platform.ts'
import { alarmOf, dueAlarm, type Faults, type ObjectClass, setClock, settle, takeLog, track, world } from './world.ts'

class TestCore extends Core {
  override step(nowMs: number, shared: Bytes, state: Bytes, event: Event): StepOutput {
    world.stats.steps++
    return super.step(nowMs, shared, state, event)
  }

  trapNext(env: Env): void {
    this.start(env)
    const exports = this.exports as unknown as { panic_next(): void }
    exports.panic_next()
  }

  get memoryBytes(): number {
    return this.exports?.memory.buffer.byteLength ?? 0
  }
}

let core = new TestCore(module, catalog)
const isolate: Isolate = { core, memory: new Memory(), shared: NO_BYTES }

const PREFIX = '/__test/'

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith(PREFIX))
      return await control(`${request.method} ${pathname.slice(PREFIX.length)}`, request, env)
    return await serve(isolate, request, testEnv(env), {
      waitUntil: (promise) => ctx.waitUntil(track('exchanges', promise)),
    })
  },
} satisfies ExportedHandler<Env>

async function control(route: string, request: Request, env: Env): Promise<Response> {
  const command = commands[route]
  if (command === undefined) return Response.json({ error: `no such test route: ${route}` }, { status: 404 })
  try {
    const text = await request.text()
    const result = await command(env, text === '' ? {} : JSON.parse(text))
    return typeof result === 'string' ? new Response(result) : Response.json(result ?? {})
  } catch (error) {
    return Response.json({ error: String(error) }, { status: 500 })
  }
}

type Input = { env?: Record<string, string>; nowMs?: number; inFlight?: boolean } & Partial<Faults>
type Result = object | string | undefined

const commands: Record<string, (env: Env, input: Input) => Result | Promise<Result>> = {
  'POST reset': reset,
  'POST clock': advance,
  'POST settle': () => settle().then(() => undefined),
  'POST fault': fault,
  'GET stats': () => ({ ...world.stats, memoryBytes: core.memoryBytes }),
  'POST stats': () => world.resetStats() as undefined,
  'POST trap': (env) => core.trapNext(testEnv(env)) as undefined,
  'POST evict': evict,
  'POST corrupt': corrupt,
  'POST log': takeLog,
}

function reset(env: Env, input: Input): object | undefined {
  world.env = input.env ?? {}
  world.resetFaults()
  world.rotten = false
  world.alarms.clear()
  takeLog()
  if (input.nowMs !== undefined) setClock(input.nowMs)
  core = new TestCore(module, catalog)
  isolate.core = core
  evict()
  const { error } = core.start(testEnv(env))
  return { error }
}

function evict(): undefined {
  isolate.memory.clear()
  isolate.shared = NO_BYTES
}

function corrupt(): undefined {
  world.rotten = true
  evict()
}

async function fault(env: Env, input: Input): Promise<undefined> {
  if (input.kv === 'frozen' && world.faults.kv !== 'frozen') await freezeKV(env.KV)
  world.resetFaults()
  world.faults.kv = input.kv ?? 'ok'
  world.faults.deliveries = input.deliveries ?? 'ok'
  Object.assign(world.faults.objects, input.objects)
}

// Alarms that ring may set others, which may be due on the way as well.
async function advance(env: Env, { nowMs = clock.now(), inFlight }: Input): Promise<object> {
  let rang = 0
  const errors: string[] = []
  await settle(inFlight)
  for (let alarm = dueAlarm(nowMs); alarm !== undefined; alarm = dueAlarm(nowMs)) {
    world.alarms.delete(alarm.key)
    setClock(Math.max(clock.now(), alarm.ms))
    rang++
    await ring(env, alarm.key).catch((error) => {
      errors.push(String(error))
      // The platform, too, tries again after a while.
      alarmOf(alarm.key).atLatest(clock.now() + REDELIVER_MS)
    })
    await settle(inFlight)
  }
  setClock(nowMs)
  return { rang, errors }
}

const namespaces = { KeyMeter: 'KEY_METER', Ledger: 'LEDGER', Directory: 'DIRECTORY' } as const

async function ring(env: Env, key: string): Promise<void> {
  const at = key.indexOf('/')
  const namespace = env[namespaces[key.slice(0, at) as ObjectClass]] as unknown as DurableObjectNamespace<TestObject>
  await namespace.get(namespace.idFromName(key.slice(at + 1))).ring()
}

class TestObject extends DurableObject<Env> {
  private readonly shell: Shell
  private readonly className: ObjectClass

  constructor(ctx: DurableObjectState, env: Env, objectClass: number, className: ObjectClass) {
    super(ctx, env)
    const name = nameOf(ctx)
    const tested = testEnv(env)
    this.className = className
    this.shell = new Shell(isolate, tested, objectClass, name, {
      storage: countedStorage(ctx.storage),
      alarm: alarmOf(`${className}/${name}`),
      deliver: async (delivery) => {
        if (world.faults.deliveries === 'down') throw new Error('deliveries are down')
        await deliver(tested, delivery)
      },
      post: sendPost,
      waitUntil: (promise) => ctx.waitUntil(track('objects', promise)),
    })
  }

  call(command: Bytes): Bytes {
    return this.shell.call(command)
  }

  ring(): Promise<void> {
    return this.shell.ring()
  }

  // The control plane comes this way, past the faulty bindings: its faults are made here.
  override fetch(request: Request): Promise<Response> {
    return answer(nameOf(this.ctx), request, (command) => {
      countCall(this.className)
      const reply = this.shell.call(command)
      if (world.faults.objects[this.className] === 'lost') throw new Error('the reply was lost')
      return reply
    })
  }
}

export class KeyMeter extends TestObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, CLASS_KEY_METER, 'KeyMeter')
  }
}

export class Ledger extends TestObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, CLASS_LEDGER, 'Ledger')
  }
}

export class Directory extends TestObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, CLASS_DIRECTORY, 'Directory')
  }
}
