import {
  ATTACHED_BUFFER,
  type Bytes,
  EVENT_CHUNK,
  EVENT_HEAD,
  EVENT_REQUEST,
  type Event,
  type Headers as Fields,
  FLIGHT_FAILED,
  NO_BYTES,
  STEP_FAILED,
} from './abi.ts'
import { Actions } from './action.ts'
import { Kept } from './kept.ts'
import { lastResort } from './lastresort.ts'
import { logFailure } from './log.ts'
import { type Incoming, requestFields } from './request.ts'
import type { Push } from './tasks.ts'
import { type Lifetime, Working } from './working.ts'

const NO_FIELDS: Fields = []

/**
 * The loop of one exchange: it steps, carries out the actions, and steps with their results. Events are processed one
 * at a time in order of arrival. If a result is available immediately (memory, buffers), it is processed in the same
 * turn.
 */
export class Exchange {
  private readonly incoming: Incoming
  private readonly working: Working
  private readonly actions: Actions
  private readonly state = new Kept()
  private readonly queue: Event[] = []
  private stepping = false
  private failed = false

  constructor(incoming: Incoming, lifetime: Lifetime) {
    this.incoming = incoming
    this.working = new Working(lifetime, incoming.id, () => this.endIfOver())
    this.actions = new Actions(incoming, this.push, this.working)
  }

  run(seed: Bytes): Response | Promise<Response> {
    this.push(EVENT_REQUEST, 0, 0, seed, requestFields(this.incoming))
    return this.actions.response.result()
  }

  private readonly push: Push = (kind, id, code, data = NO_BYTES, headers = NO_FIELDS) => {
    this.queue.push({ kind, id, code, headers, data })
    if (this.stepping) return
    this.stepping = true
    for (let event = this.queue.shift(); event !== undefined; event = this.queue.shift()) this.advance(event)
    this.stepping = false
    this.endIfOver()
  }

  private advance(event: Event): void {
    const { actions } = this
    if (event.id !== 0) {
      const task = actions.tasks.find(event.id)
      if (task === undefined) return // the action was canceled while its result waited for its turn
      if (event.kind !== EVENT_HEAD && event.kind !== EVENT_CHUNK) actions.tasks.remove(event.id)
      actions.buffers.keep(task, event)
    }
    if (this.failed) return
    try {
      const { pinned, flight } = actions
      const attached = actions.buffers.get(ATTACHED_BUFFER)
      const out = this.incoming.isolate.step({
        state: this.state.bytes,
        attached,
        pinned,
        waiting: flight.waiting,
        event,
      })
      this.state.replace(out.state)
      for (const action of out.actions) actions.perform(action)
    } catch (error) {
      this.fail(error)
    }
  }

  // The step has failed, and so has the exchange. Actions in flight may finish, but their results are ignored.
  private fail(error: unknown): void {
    const { actions, incoming } = this
    this.failed = true
    logFailure(STEP_FAILED, { requestId: incoming.id }, error)
    actions.flight.land(FLIGHT_FAILED, NO_BYTES)
    actions.tasks.cancelAll()
    if (actions.response.started) actions.response.stream?.giveUp()
    else actions.response.respond(lastResort(incoming.configured, incoming.request.method, incoming.id))
  }

  private endIfOver(): void {
    const { tasks, response } = this.actions
    if (tasks.size > 0) return
    // If there is neither an action in flight nor a response, no further event can arrive.
    if (!response.started) this.fail('the core never responded to the caller')
    if (!this.working.idle) return
    this.actions.flight.land(FLIGHT_FAILED, NO_BYTES)
    this.working.end()
  }
}
