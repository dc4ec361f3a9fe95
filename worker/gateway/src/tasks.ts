import {
  ACTION_READ_BODY,
  type Action,
  type Bytes,
  EVENT_TIMER,
  type Headers as Fields,
  OUTCOME_OK,
  TIMER_WOKEN,
  WAIT_FIRST,
} from './abi.ts'
import type { Place, Queues } from './queue.ts'
import type { Working } from './working.ts'

// Pauses between looks at a place in a queue. Most waits are for one call of an object.
const FIRST_LOOK_MS = 1
const LONGEST_LOOK_MS = 4

/** Runs a step of the core with an event. */
export type Push = (kind: number, id: number, code: number, data?: Bytes, headers?: Fields) => void

/** Runs a step of the core with the result of an action. */
export type Answer = (kind: number, code: number, data?: Bytes, headers?: Fields) => void

/** Something that the core can pause. */
export interface Pausable {
  pause(): void
  resume(): void
}

/** An action whose result the core has not received yet, and its cancel function if it can be canceled. */
export interface Task {
  readonly id: number
  /** The buffer that receives the body of the result, if it has one. */
  readonly buffer: number
  readonly giveUp: (() => void) | undefined
  /** Only set for a fetch. */
  readonly fetch: Pausable | undefined
}

/**
 * The actions in flight of one exchange. They are in an array, because there are few at a time. A Map that repeatedly
 * becomes empty costs more (measured), because V8 shrinks it each time.
 */
export class Tasks {
  private readonly open: Task[] = []
  private readonly push: Push
  private readonly working: Working

  constructor(push: Push, working: Working) {
    this.push = push
    this.working = working
  }

  get size(): number {
    return this.open.length
  }

  find(id: number): Task | undefined {
    for (const task of this.open) if (task.id === id) return task
    return undefined
  }

  /** Replaces a task with the same ID. */
  add({ id, buffer }: Action, giveUp?: () => void, fetch?: Pausable): Task {
    this.remove(id)
    const task = { id, buffer, giveUp, fetch }
    this.open.push(task)
    return task
  }

  remove(id: number): void {
    const { open } = this
    for (let i = 0; i < open.length; i++) {
      if (open[i]?.id !== id) continue
      const last = open.pop() as Task // keeps the array's memory for the next task, which splice does not
      if (i < open.length) open[i] = last
      return
    }
  }

  /** Delivers a result in the same turn, after the other actions of the step. */
  answer(action: Action, kind: number, code: number, data?: Bytes): void {
    this.add(action)
    this.push(kind, action.id, code, data)
  }

  /**
   * Starts work that always settles later and never rejects. If an action is canceled, its result is dropped, because
   * its ID may already be used again.
   */
  start(action: Action, work: (answer: Answer) => Promise<void>): Promise<void> {
    const { id } = action
    const task = this.add(action)
    if (action.kind !== ACTION_READ_BODY) this.working.outlive()
    return work((kind, code, data, headers) => {
      if (this.find(id) === task) this.push(kind, id, code, data, headers)
    })
  }

  wait(action: Action): void {
    this.working.outlive()
    const timer = setTimeout(() => this.push(EVENT_TIMER, action.id, OUTCOME_OK), action.keepMs)
    this.add(action, () => clearTimeout(timer))
  }

  /**
   * Waits in the queue of a pinned entry. The step that wakes the exchange belongs to another request, so it only marks
   * the place, and the exchange's own timers look at the mark. A promise that the other request resolves would not do: in
   * workerd 1.20261117.1, one of a thousand exchanges then continued in the other request's context, where its own
   * streams and timers cannot be used.
   */
  queue(action: Action, queues: Queues, key: string): void {
    this.working.outlive()
    const { id, code, keepMs } = action
    const place: Place = { woken: false }
    const endMs = Date.now() + keepMs
    let timer: number | null = null
    const look = (pause: number): void => {
      const leftMs = endMs - Date.now()
      if (place.woken) this.push(EVENT_TIMER, id, TIMER_WOKEN)
      else if (leftMs > 0) timer = setTimeout(() => look(Math.min(2 * pause, LONGEST_LOOK_MS)), Math.min(pause, leftMs))
      else {
        queues.leave(key, place)
        this.push(EVENT_TIMER, id, OUTCOME_OK)
      }
    }
    this.add(action, () => {
      clearTimeout(timer)
      if (place.woken) queues.wake(key, 1)
      else queues.leave(key, place)
    })
    queues.join(key, place, code === WAIT_FIRST)
    look(FIRST_LOOK_MS)
  }

  /** Cancels an action. If a result arrives later, it is ignored. */
  cancel(id: number): void {
    const task = this.find(id)
    this.remove(id)
    task?.giveUp?.()
  }

  /** Cancels the actions that can be canceled. */
  cancelAll(): void {
    for (const { id, giveUp } of [...this.open]) if (giveUp !== undefined) this.cancel(id)
  }
}
