// What the tests own instead of the platform: time, alarms, faults, and counts of what was used.
import { clock } from '../src/clock.ts'

export type ObjectClass = 'KeyMeter' | 'Ledger' | 'Directory'

export interface Faults {
  kv: 'ok' | 'down' | 'frozen'
  objects: Partial<Record<ObjectClass, 'ok' | 'down' | 'overloaded' | 'lost'>>
  deliveries: 'ok' | 'down'
}

const SETTLE_LIMIT_MS = 30_000

function noFaults(): Faults {
  return { kv: 'ok', objects: {}, deliveries: 'ok' }
}

function noStats() {
  return {
    objectCalls: { KeyMeter: 0, Ledger: 0, Directory: 0 },
    kvReads: 0,
    kvWrites: 0,
    rowsRead: 0,
    rowsWritten: 0,
    alarmsSet: 0,
    fetches: 0,
    steps: 0,
  }
}

export const world = {
  faults: noFaults(),
  stats: noStats(),
  /** What KV held when it froze. */
  frozen: new Map<string, ArrayBuffer>(),
  /** A bit is wrong in every cached answer that is read from KV. */
  rotten: false,
  /** Texts that stand in front of the deployment's own. */
  env: {} as Record<string, string>,
  /** When each object's alarm rings. */
  alarms: new Map<string, number>(),
  resetFaults(): void {
    this.faults = noFaults()
  },
  resetStats(): void {
    this.stats = noStats()
  },
}

// Real time until the first reset.
let frozenAtMs: number | undefined
clock.now = () => frozenAtMs ?? Date.now()

export function setClock(ms: number): void {
  frozenAtMs = ms
}

/** An object's alarm in the registry: see platform.ts for who rings it. */
export function alarmOf(key: string) {
  return {
    atLatest(ms: number): void {
      const standing = world.alarms.get(key)
      if (standing !== undefined && standing <= ms) return
      world.alarms.set(key, ms)
      world.stats.alarmsSet++
    },
    // Whoever rings takes the alarm off the registry first.
    rang(): void {},
  }
}

/** The alarm that is due first, until then. */
export function dueAlarm(untilMs: number): { key: string; ms: number } | undefined {
  let first: { key: string; ms: number } | undefined
  for (const [key, ms] of world.alarms) {
    if (ms <= untilMs && (first === undefined || ms < first.ms)) first = { key, ms }
  }
  return first
}

const working = { exchanges: 0, objects: 0 }

/** Counts the promise as work until it settles. */
export function track(of: keyof typeof working, promise: Promise<unknown>): Promise<unknown> {
  working[of]++
  return promise.finally(() => {
    working[of]--
  })
}

/**
 * Waits for all tracked work, or with inFlight for that of objects only, while exchanges go on. Polls: a
 * promise of another request cannot be awaited from this one.
 */
export async function settle(inFlight = false): Promise<void> {
  for (let waited = 0; working.objects > 0 || (working.exchanges > 0 && !inFlight); waited++) {
    if (waited > SETTLE_LIMIT_MS) throw new Error(`work does not end: ${JSON.stringify(working)}`)
    await scheduler.wait(1)
  }
}

let lines: string[] = []

/** The log since the last look. */
export function takeLog(): string {
  const text = lines.map((line) => `${line}\n`).join('')
  lines = []
  return text
}

for (const level of ['log', 'error'] as const) {
  console[level] = (line: string) => {
    lines.push(line)
  }
}
