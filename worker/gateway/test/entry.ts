// The gateway with test controls: the code in src/ with a virtual clock, virtual alarms and faulty bindings. Never
// shipped. All its routes are under /__test/. They take and return JSON:
//
//   POST reset   {"env": {...}, "nowMs": n}   configures a fresh core with env, which overrides the deployment's
//                                             variables; clears memory, faults and alarms; sets the clock
//   POST clock   {"nowMs": n, "inFlight": b}  advances the clock and fires each due alarm at its time; with
//                                             inFlight, does not wait for exchanges in flight
//   POST settle                               waits for all work after responses
//   POST fault   {"kv", "objects", "deliveries"}   sets faults and clears the others: see Faults
//   POST corrupt                              flips a bit in each cached response read from KV; evicts
//   POST log                                  returns the log since the last call, as text
//   GET  stats   /  POST stats                returns the counts  /  resets the counts
//   POST trap                                 makes the core's next step panic
//   POST evict                                clears host memory and the shared blob

import { DurableObject } from 'cloudflare:workers'
import module from '../../../build/core-panic.wasm'
import catalogBuffer from '../../../core/catalog/catalog.bin'
import {
  ACTION_WAIT,
  type Bytes,
  CLASS_DIRECTORY,
  CLASS_KEY_METER,
  CLASS_LEDGER,
  REDELIVER_MS,
  type StepOutput,
} from '../src/abi.ts'
import { clock } from '../src/clock.ts'
import { Colo } from '../src/colo.ts'
import { answer, deliver, nameOf } from '../src/durable.ts'
import { Engine } from '../src/engine.ts'
import { serve } from '../src/host.ts'
import { Isolate } from '../src/isolate.ts'
import { StoredObject } from '../src/object.ts'
import { sendPost } from '../src/post.ts'
import { countCall, countedStorage, freezeKV, testEnv } from './platform.ts'
import {
  alarmOf,
  clockIsSet,
  type Faults,
  nextDueAlarm,
  type ObjectClass,
  setClock,
  takeLog,
  track,
  waitUntilIdle,
  world,
} from './world.ts'

const catalog = new Uint8Array(catalogBuffer)

// FIRST_KEEPING is the first ID of the actions that keep a key's entry (core/exchange). While the clock is virtual,
// these actions wait for TEST_REPORT_MS milliseconds, because settle waits for them in real time.
const FIRST_KEEPING = 6000
const TEST_REPORT_MS = 20

class TestEngine extends Engine {
  override step(...input: Parameters<Engine['step']>): StepOutput {
    world.stats.steps++
    const out = super.step(...input)
    for (const action of out.actions) {
      if (action.kind === ACTION_WAIT && action.id >= FIRST_KEEPING && action.keepMs > TEST_REPORT_MS && clockIsSet())
        action.keepMs = TEST_REPORT_MS
    }
    return out
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

// The platform's cache with faults. It is off unless a test turns it on. Other tests therefore see the same stores on
// every host.
class TestColo extends Colo {
  override get available(): boolean {
    return world.faults.colo !== 'off' && super.available
  }

  override read(key: string): Promise<Bytes | undefined> {
    return world.faults.colo === 'down' ? Promise.resolve(undefined) : super.read(key)
  }

  override async write(key: string, value: Bytes, ttlSeconds: number): Promise<void> {
    if (world.faults.colo !== 'down') await super.write(key, value, ttlSeconds)
  }
}

let engine = new TestEngine(module, catalog)
const isolate = new Isolate(engine, new TestColo())

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
  'POST settle': () => waitUntilIdle().then(() => undefined),
  'POST fault': fault,
  'GET stats': () => ({ ...world.stats, followers: isolate.flights.followers, memoryBytes: engine.memoryBytes }),
  'POST stats': () => world.resetStats() as undefined,
  'POST trap': (env) => engine.trapNext(testEnv(env)) as undefined,
  'POST evict': evict,
  'POST corrupt': corrupt,
  'POST log': takeLog,
}

function reset(env: Env, input: Input): object | undefined {
  world.env = input.env ?? {}
  world.resetFaults()
  world.corruptCache = false
  world.alarms.clear()
  takeLog()
  if (input.nowMs !== undefined) setClock(input.nowMs)
  engine = new TestEngine(module, catalog)
  isolate.engine = engine
  evict()
  const { error } = engine.start(testEnv(env))
  return { error }
}

function evict(): undefined {
  isolate.clear()
}

function corrupt(): undefined {
  world.corruptCache = true
  evict()
}

async function fault(env: Env, input: Input): Promise<undefined> {
  if (input.kv === 'frozen' && world.faults.kv !== 'frozen') await freezeKV(env.KV)
  world.resetFaults()
  world.faults.kv = input.kv ?? 'ok'
  world.faults.colo = input.colo ?? 'off'
  world.faults.deliveries = input.deliveries ?? 'ok'
  Object.assign(world.faults.objects, input.objects)
}

// An alarm may set other alarms. If these are due, they fire, too.
async function advance(env: Env, { nowMs = clock.now(), inFlight }: Input): Promise<object> {
  let rang = 0
  const errors: string[] = []
  await waitUntilIdle(inFlight)
  for (let alarm = nextDueAlarm(nowMs); alarm !== undefined; alarm = nextDueAlarm(nowMs)) {
    world.alarms.delete(alarm.key)
    setClock(Math.max(clock.now(), alarm.ms))
    rang++
    await ring(env, alarm.key).catch((error) => {
      errors.push(String(error))
      // The platform retries a failed alarm after a while.
      alarmOf(alarm.key).atLatest(clock.now() + REDELIVER_MS)
    })
    await waitUntilIdle(inFlight)
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
  private readonly object: StoredObject
  private readonly className: ObjectClass

  constructor(ctx: DurableObjectState, env: Env, objectClass: number, className: ObjectClass) {
    super(ctx, env)
    const name = nameOf(ctx)
    const faultyEnv = testEnv(env)
    this.className = className
    this.object = new StoredObject(isolate, faultyEnv, objectClass, name, {
      storage: countedStorage(ctx.storage),
      alarm: alarmOf(`${className}/${name}`),
      deliver: async (delivery) => {
        if (world.faults.deliveries === 'down') throw new Error('deliveries are down')
        await deliver(faultyEnv, delivery)
      },
      post: sendPost,
      waitUntil: (promise) => ctx.waitUntil(track('objects', promise)),
    })
  }

  call(command: Bytes): Bytes {
    return this.object.call(command)
  }

  ring(): Promise<void> {
    return this.object.ring()
  }

  // The control plane calls objects by fetch, so the faulty bindings do not see these calls. Their faults are
  // injected here.
  override fetch(request: Request): Promise<Response> {
    return answer(nameOf(this.ctx), request, (command) => {
      countCall(this.className)
      const reply = this.object.call(command)
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
