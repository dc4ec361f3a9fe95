import {
  type Action,
  type Bytes,
  EVENT_STORED,
  KV_READ_FAILED,
  KV_WRITE_FAILED,
  OUTCOME_ABSENT,
  OUTCOME_FAILED,
  OUTCOME_OK,
  OUTCOME_UNSUPPORTED,
  WHERE_COLO,
  WHERE_KV,
  WHERE_MEMORY,
} from './abi.ts'
import { logFailure } from './log.ts'
import type { Incoming } from './request.ts'
import type { Answer, Tasks } from './tasks.ts'
import type { Working } from './working.ts'

/** Carries out an ActionRead. Tries memory first, then the data center's cache, then KV. */
export function read(incoming: Incoming, tasks: Tasks, action: Action): void {
  const { where, key } = action
  const { memory, colo } = incoming.isolate
  const found = where & WHERE_MEMORY ? memory.read(key) : undefined
  if (found !== undefined) tasks.answer(action, EVENT_STORED, OUTCOME_OK, found)
  else if (where & WHERE_COLO && colo.available)
    void tasks.start(action, (answer) => readColo(incoming, action, answer))
  else if (where & WHERE_KV) void tasks.start(action, (answer) => readFromKV(incoming, action, answer))
  else tasks.answer(action, EVENT_STORED, where & WHERE_MEMORY ? OUTCOME_ABSENT : OUTCOME_UNSUPPORTED)
}

async function readColo(incoming: Incoming, action: Action, answer: Answer): Promise<void> {
  const { key, where } = action
  const value = await incoming.isolate.colo.read(key)
  if (value !== undefined) found(incoming, action, value, answer)
  else if (where & WHERE_KV) await readFromKV(incoming, action, answer)
  else answer(EVENT_STORED, OUTCOME_ABSENT)
}

async function readFromKV(incoming: Incoming, action: Action, answer: Answer): Promise<void> {
  const { env, configured, id } = incoming
  let value: Bytes | null
  try {
    value = await within(action.limit, readKV(env.KV, action.key, configured.kvCacheSeconds))
  } catch (error) {
    logFailure(KV_READ_FAILED, { requestId: id }, error)
    return answer(EVENT_STORED, OUTCOME_FAILED)
  }
  if (value === null) return answer(EVENT_STORED, OUTCOME_ABSENT)
  found(incoming, action, value, answer)
}

function found({ isolate }: Incoming, { key, keepMs }: Action, value: Bytes, answer: Answer): void {
  if (keepMs > 0) isolate.memory.write(key, value, keepMs)
  answer(EVENT_STORED, OUTCOME_OK, value)
}

/** Carries out an ActionWrite. */
export function write({ isolate, env }: Incoming, working: Working, action: Action, value: Bytes): void {
  const { key, where, keepMs, ttl } = action
  const { memory, colo } = isolate
  if (where & WHERE_MEMORY) memory.write(key, value, keepMs)
  if (where & WHERE_COLO && colo.available) void working.go('', colo.write(key, value, ttl))
  if (where & WHERE_KV) void working.go(KV_WRITE_FAILED, writeKV(env.KV, key, value, ttl))
}

// Returns null for an unknown key. The value may be a cached copy up to cacheSeconds old. Throws if KV is down.
async function readKV(kv: KVNamespace, key: string, cacheSeconds: number): Promise<Bytes | null> {
  const value = await kv.get(key, { type: 'arrayBuffer', cacheTtl: cacheSeconds })
  return value === null ? null : new Uint8Array(value)
}

/** Stores a value. An empty value deletes the key. With a TTL of 0, the value never expires. */
export async function writeKV(kv: KVNamespace, key: string, value: Bytes, ttlSeconds: number): Promise<void> {
  if (value.length === 0) await kv.delete(key)
  else await kv.put(key, value, ttlSeconds > 0 ? { expirationTtl: ttlSeconds } : {})
}

// Returns null if the work takes longer than the limit. 0 means no limit.
function within<T>(limitMs: number, work: Promise<T>): Promise<T | null> {
  if (limitMs === 0) return work
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), limitMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
