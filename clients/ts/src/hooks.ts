// Hooks: the caller's functions that see each attempt.

/** An attempt that is about to be sent. */
export interface OutgoingRequest {
  method: 'GET' | 'POST' | 'PATCH'
  /** After the base URL, without a query. */
  path: string
  /** Starts at 1. */
  attempt: number
  /** The headers, without the API key. Changes apply only to this attempt. */
  headers: Headers
}

/** A response whose headers have arrived. */
export interface IncomingResponse {
  method: 'GET' | 'POST' | 'PATCH'
  /** After the base URL, without a query. */
  path: string
  /** Starts at 1. */
  attempt: number
  /** The HTTP status. */
  status: number
  /** A copy of the headers. */
  headers: Headers
  /** The request ID, as in the gateway's logs; null if the response has none. */
  requestId: string | null
  /** Milliseconds from the request to the headers. */
  ms: number
}

/** A function that is called before each attempt. If it throws an error, the call ends with that error. */
export type RequestHook = (request: OutgoingRequest) => void | Promise<void>

/**
 * A function that is called when the headers of a response have arrived. If it throws an error, the call ends with
 * that error.
 */
export type ResponseHook = (response: IncomingResponse) => void | Promise<void>

/** Carries a hook's error past the code that handles transport errors. */
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
