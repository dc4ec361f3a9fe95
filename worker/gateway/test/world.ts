// The tests' replacement for parts of the platform: clock, alarms, faults and usage counts.
import { clock } from '../src/clock.ts'

export type ObjectClass = 'KeyMeter' | 'Ledger' | 'Directory'

/** The faults to inject. 'ok' means no fault. */
export interface Faults {
  /** 'down': every operation fails. 'frozen': reads return the content at the time when KV was frozen. */
  kv: 'ok' | 'down' | 'frozen'
  /** 'down' and 'overloaded': every call fails. 'lost': the command runs, but the reply to its first call is lost. */
  objects: Partial<Record<ObjectClass, 'ok' | 'down' | 'overloaded' | 'lost'>>
  /** The data center's cache. 'off': the host has none. 'down': every operation fails. */
  colo: 'off' | 'on' | 'down'
  /** 'down': every delivery fails. */
  deliveries: 'ok' | 'down'
}

const IDLE_TIMEOUT_MS = 30_000

function noFaults(): Faults {
  return { kv: 'ok', colo: 'off', objects: {}, deliveries: 'ok' }
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
  /** The content of KV at the time when it was frozen. */
  frozen: new Map<string, ArrayBuffer>(),
  /** Flips a bit in every cached response that is read from KV. */
  corruptCache: false,
  /** Variables that override those of the deployment. */
  env: {} as Record<string, string>,
  /** Alarm times in Unix milliseconds, by `<class>/<object>`. */
  alarms: new Map<string, number>(),
  resetFaults(): void {
    this.faults = noFaults()
  },
  resetStats(): void {
    this.stats = noStats()
  },
}

// Until the clock is first set, this is real time.
let frozenAtMs: number | undefined
clock.now = () => frozenAtMs ?? Date.now()

export function setClock(ms: number): void {
  frozenAtMs = ms
}

/** Reports whether the time is virtual. */
export function clockIsSet(): boolean {
  return frozenAtMs !== undefined
}

/** An object's alarm in world.alarms. entry.ts fires it when a test advances the clock. */
export function alarmOf(key: string) {
  return {
    atLatest(ms: number): void {
      const currentMs = world.alarms.get(key)
      if (currentMs !== undefined && currentMs <= ms) return
      world.alarms.set(key, ms)
      world.stats.alarmsSet++
    },
    // entry.ts removes an alarm before firing it.
    rang(): void {},
  }
}

/** Returns the earliest alarm that is due by a given time. */
export function nextDueAlarm(untilMs: number): { key: string; ms: number } | undefined {
  let first: { key: string; ms: number } | undefined
  for (const [key, ms] of world.alarms) {
    if (ms <= untilMs && (first === undefined || ms < first.ms)) first = { key, ms }
  }
  return first
}

const working = { exchanges: 0, objects: 0 }

/** Counts a promise as work in progress until it is resolved or rejected. */
export function track(kind: keyof typeof working, promise: Promise<unknown>): Promise<unknown> {
  working[kind]++
  return promise.finally(() => {
    working[kind]--
  })
}

/**
 * Waits for all tracked work. With inFlight, it waits only for objects, and exchanges may continue. It polls, because
 * a request cannot await a promise of another request.
 */
export async function waitUntilIdle(inFlight = false): Promise<void> {
  for (let waited = 0; working.objects > 0 || (working.exchanges > 0 && !inFlight); waited++) {
    if (waited > IDLE_TIMEOUT_MS)
      throw new Error(`still working after ${IDLE_TIMEOUT_MS} ms: ${JSON.stringify(working)}`)
    await scheduler.wait(1)
  }
}

let lines: string[] = []

/** Returns the log since the last call. */
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
