// The platform's bindings. They are wrapped, so that they inject the faults of world.ts and update its counts.
import type { Bytes } from '../src/abi.ts'
import type { Platform } from '../src/object.ts'
import { type ObjectClass, world } from './world.ts'

/** The deployment's variables, overridden by the variables of the last reset, and its bindings with faults. */
export function testEnv(env: Env): Env {
  return {
    ...env,
    ...world.env,
    KV: faultyKV(env.KV),
    KEY_METER: faultyNamespace(env.KEY_METER, 'KeyMeter'),
    LEDGER: faultyNamespace(env.LEDGER, 'Ledger'),
    DIRECTORY: faultyNamespace(env.DIRECTORY, 'Directory'),
  }
}

function faultyKV(kv: KVNamespace): KVNamespace {
  const used: Partial<Record<keyof KVNamespace, unknown>> = {
    async get(key: string, options: KVNamespaceGetOptions<'arrayBuffer'>) {
      world.stats.kvReads++
      if (world.faults.kv === 'down') throw new Error('KV is down')
      if (world.faults.kv === 'frozen') return world.frozen.get(key)?.slice() ?? null
      const value = await kv.get(key, options)
      return value !== null && world.corruptCache && key.startsWith('cache/') ? corrupted(value) : value
    },
    async put(key: string, value: Bytes, options: KVNamespacePutOptions) {
      world.stats.kvWrites++
      if (world.faults.kv === 'down') throw new Error('KV is down')
      await kv.put(key, value, options)
    },
    async delete(key: string) {
      world.stats.kvWrites++
      if (world.faults.kv === 'down') throw new Error('KV is down')
      await kv.delete(key)
    },
  }
  return used as KVNamespace
}

// Returns a copy with a flipped bit in the middle.
function corrupted(value: ArrayBuffer): ArrayBuffer {
  const bytes = new Uint8Array(value.slice())
  const at = bytes.length >> 1
  bytes[at] = (bytes[at] ?? 0) ^ 0x20
  return bytes.buffer
}

/** Copies the full content of KV. Reads return this copy while KV is frozen. */
export async function freezeKV(kv: KVNamespace): Promise<void> {
  world.frozen.clear()
  let page = await kv.list()
  for (;;) {
    for (const { name } of page.keys) {
      const value = await kv.get(name, 'arrayBuffer')
      if (value !== null) world.frozen.set(name, value)
    }
    if (page.list_complete) return
    page = await kv.list({ cursor: page.cursor })
  }
}

type Namespace<T extends Rpc.DurableObjectBranded> = DurableObjectNamespace<T>
type Callable = { call(command: Bytes): Promise<Bytes> }

function faultyNamespace<T extends Rpc.DurableObjectBranded>(real: Namespace<T>, name: ObjectClass): Namespace<T> {
  const used: Partial<Record<keyof Namespace<T>, unknown>> = {
    idFromName: (objectName: string) => real.idFromName(objectName),
    get: (id: DurableObjectId, options?: DurableObjectNamespaceGetDurableObjectOptions) => ({
      call: (command: Bytes) => faultyCall(real.get(id, options) as unknown as Callable, name, command),
    }),
  }
  return used as Namespace<T>
}

// Commands whose reply was lost once. A retry passes the same array. Another call passes another one.
const lost = new WeakSet<Bytes>()

async function faultyCall(stub: Callable, name: ObjectClass, command: Bytes): Promise<Bytes> {
  countCall(name)
  const reply = await stub.call(command)
  if (world.faults.objects[name] !== 'lost' || lost.has(command)) return reply
  lost.add(command)
  throw Object.assign(new Error('the reply was lost'), { retryable: true })
}

/** Counts a call to an object. Throws if a fault is set for its class. */
export function countCall(name: ObjectClass): void {
  world.stats.objectCalls[name]++
  const fault = world.faults.objects[name]
  if (fault === 'down') throw new Error('the object is down')
  if (fault === 'overloaded') throw Object.assign(new Error('the object is overloaded'), { overloaded: true })
}

/** Wraps storage to count the rows read and written. */
export function countedStorage(storage: DurableObjectStorage): Platform['storage'] {
  const { kv } = storage
  return {
    kv: {
      get<T>(key: string): T | undefined {
        world.stats.rowsRead++
        return kv.get<T>(key)
      },
      list<T>(options?: SyncKvListOptions): Iterable<[string, T]> {
        const rows = [...kv.list<T>(options)]
        world.stats.rowsRead += rows.length
        return rows
      },
      put<T>(key: string, value: T): void {
        world.stats.rowsWritten++
        kv.put(key, value)
      },
      delete(key: string): boolean {
        world.stats.rowsWritten++
        return kv.delete(key)
      },
    },
    transactionSync: (body) => storage.transactionSync(body),
  }
}

const realFetch = globalThis.fetch
globalThis.fetch = (input: RequestInfo | URL, init?: RequestInit) => {
  world.stats.fetches++
  return realFetch(input, init)
}
