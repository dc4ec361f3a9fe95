import {
  ACTION_APPEND,
  ACTION_CALL,
  ACTION_CANCEL,
  ACTION_CLOSE,
  ACTION_FETCH,
  ACTION_FOLLOW,
  ACTION_FORWARD,
  ACTION_JOIN,
  ACTION_KEEP,
  ACTION_LAND,
  ACTION_LOG,
  ACTION_OPEN,
  ACTION_PAUSE,
  ACTION_PIN,
  ACTION_PUBLISH,
  ACTION_READ,
  ACTION_READ_BODY,
  ACTION_RESPOND,
  ACTION_RESUME,
  ACTION_SEND,
  ACTION_SUPPLY,
  ACTION_UNSEAL,
  ACTION_WAIT,
  ACTION_WRITE,
  type Action,
  type Bytes,
  CALL_FAILED,
  EVENT_FAULT,
  EVENT_REPLY,
  EVENT_RESPONSE,
  EVENT_SUPPLIED,
  FAULT_CONNECT,
  MalformedError,
  OUTCOME_FAILED,
  OUTCOME_OK,
  OUTCOME_OVERLOADED,
  WAIT_TIMER,
} from './abi.ts'
import { RequestBody } from './body.ts'
import { Buffers } from './buffers.ts'
import { callObject, isOverloaded } from './call.ts'
import { FetchActions } from './fetch.ts'
import { FlightActions } from './flight.ts'
import { forward } from './forward.ts'
import { log, logFailure } from './log.ts'
import type { Incoming } from './request.ts'
import { CallerResponse } from './response.ts'
import { read, write } from './storage.ts'
import { type Answer, type Push, Tasks } from './tasks.ts'
import { unseal } from './unseal.ts'
import type { Working } from './working.ts'

/** Carries out the actions of one exchange. */
export class Actions {
  readonly tasks: Tasks
  readonly buffers = new Buffers()
  readonly response: CallerResponse
  /** The key of the pinned entry, or empty if there is none. */
  pinned = ''
  private readonly incoming: Incoming
  private readonly working: Working
  private readonly body: RequestBody
  readonly flight: FlightActions
  readonly fetches: FetchActions

  constructor(incoming: Incoming, push: Push, working: Working) {
    this.incoming = incoming
    this.working = working
    this.tasks = new Tasks(push, working)
    this.body = new RequestBody(incoming.request)
    this.response = new CallerResponse(incoming.request, this.body, push, working)
    this.flight = new FlightActions(incoming.isolate, this, working)
    this.fetches = new FetchActions(incoming.configured.responseHeaders, this, push, working)
  }

  perform(action: Action): void {
    const handler = HANDLERS[action.kind]
    if (handler === undefined) throw new MalformedError()
    handler(this, action)
  }

  readBody(action: Action): void {
    this.body.read(action, this.tasks)
  }

  supply(action: Action): void {
    this.tasks.answer(action, EVENT_SUPPLIED, OUTCOME_OK, this.buffers.get(action.buffer))
  }

  // The cause of a failure is neither passed to the core nor logged.
  unseal(action: Action): void {
    const sealed = this.buffers.get(action.buffer)
    void this.tasks.start(action, async (answer) => {
      const plain = await unseal(action.key, action.name, sealed)
      if (plain === undefined) answer(EVENT_SUPPLIED, OUTCOME_FAILED)
      else answer(EVENT_SUPPLIED, OUTCOME_OK, plain)
    })
  }

  append({ buffer, data }: Action): void {
    this.buffers.append(buffer, data)
  }

  wait(action: Action): void {
    if (action.code === WAIT_TIMER) this.tasks.wait(action)
    else this.tasks.queue(action, this.incoming.isolate.queues, this.pinned)
  }

  read(action: Action): void {
    read(this.incoming, this.tasks, action)
  }

  write(action: Action): void {
    write(this.incoming, this.working, action, this.buffers.body(action.body))
  }

  call(action: Action): void {
    const { env } = this.incoming
    if (action.id === 0) void this.working.go(CALL_FAILED, callObject(env, action))
    else void this.tasks.start(action, (answer) => this.reply(action, answer))
  }

  private async reply(action: Action, answer: Answer): Promise<void> {
    const { env, id } = this.incoming
    let reply: Bytes
    try {
      reply = await callObject(env, action)
    } catch (error) {
      logFailure(CALL_FAILED, { requestId: id }, error)
      return answer(EVENT_REPLY, isOverloaded(error) ? OUTCOME_OVERLOADED : OUTCOME_FAILED)
    }
    answer(EVENT_REPLY, OUTCOME_OK, reply)
  }

  forward(action: Action): void {
    void this.tasks.start(action, async (answer) => {
      const response = await forward(this.incoming, action.headers)
      if (response === undefined) return answer(EVENT_FAULT, FAULT_CONNECT)
      if (this.tasks.find(action.id) === undefined) return
      this.response.respond(response)
      answer(EVENT_RESPONSE, response.status)
    })
  }
}

const HANDLERS: Record<number, (actions: Actions, action: Action) => void> = {
  [ACTION_READ_BODY]: (x, action) => x.readBody(action),
  [ACTION_SUPPLY]: (x, action) => x.supply(action),
  [ACTION_UNSEAL]: (x, action) => x.unseal(action),
  [ACTION_KEEP]: (x, { buffer, data }) => x.buffers.set(buffer, data),
  [ACTION_APPEND]: (x, action) => x.append(action),
  [ACTION_READ]: (x, action) => x.read(action),
  [ACTION_WRITE]: (x, action) => x.write(action),
  [ACTION_JOIN]: (x, action) => x.flight.join(action),
  [ACTION_FOLLOW]: (x, action) => x.flight.follow(action),
  [ACTION_PUBLISH]: (x, action) => x.flight.publish(action),
  [ACTION_LAND]: (x, { code, data }) => x.flight.land(code, data),
  [ACTION_CALL]: (x, action) => x.call(action),
  [ACTION_FETCH]: (x, action) => x.fetches.start(action),
  [ACTION_RESPOND]: (x, action) => x.response.complete(action, x.buffers.body(action.body)),
  [ACTION_OPEN]: (x, action) => x.response.open(action),
  [ACTION_SEND]: (x, { body }) => x.response.stream?.send(x.buffers.body(body)),
  [ACTION_CLOSE]: (x) => x.response.stream?.close(),
  [ACTION_WAIT]: (x, action) => x.wait(action),
  [ACTION_CANCEL]: (x, { id }) => x.tasks.cancel(id),
  [ACTION_PAUSE]: (x, { id }) => x.tasks.find(id)?.fetch?.pause(),
  [ACTION_RESUME]: (x, { id }) => x.tasks.find(id)?.fetch?.resume(),
  [ACTION_LOG]: (_, action) => log(action),
  [ACTION_PIN]: (x, { key }) => {
    x.pinned = key
  },
  [ACTION_FORWARD]: (x, action) => x.forward(action),
}
