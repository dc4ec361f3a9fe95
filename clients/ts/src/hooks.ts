// Hooks: functions of the caller that see each attempt.

/** An attempt that is about to be sent. */
export interface OutgoingRequest {
  method: 'GET' | 'POST' | 'PATCH'
  /** After the base URL, without a query. */
  path: string
  /** From 1. */
  attempt: number
  /** May be changed, for this attempt. They do not contain the API key. */
  headers: Headers
}

/** A response whose headers have arrived. */
export interface IncomingResponse {
  method: 'GET' | 'POST' | 'PATCH'
  /** After the base URL, without a query. */
  path: string
  /** From 1. */
  attempt: number
  /** The HTTP status. */
  status: number
  /** A copy. */
  headers: Headers
  /** The request ID, as in the gateway's logs; null if the response has none. */
  requestId: string | null
  /** Milliseconds from the request to the headers. */
  ms: number
}

/** A function that is called before each attempt. Its error ends the call. */
export type RequestHook = (request: OutgoingRequest) => void | Promise<void>

/** A function that is called when the headers of a response have arrived. Its error ends the call. */
export type ResponseHook = (response: IncomingResponse) => void | Promise<void>

/** Carries the error of a hook past the handling of the transport's errors. */
export class HookFailure {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/** Calls a hook. Throws a HookFailure if it fails. */
export async function callHook<T>(hook: ((given: T) => void | Promise<void>) | undefined, given: T): Promise<void> {
  try {
    await hook?.(given)
  } catch (error) {
    throw new HookFailure(error)
  }
}
