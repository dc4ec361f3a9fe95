// The promises that calls return.
import type { ResponseMeta } from './meta.js'

/** A call's result together with its response. */
export interface WithResponse<T> {
  data: T
  response: {
    /** The HTTP status. */
    status: number
    headers: Headers
    /** The body as it arrived; null for a stream. */
    body: string | null
  }
  /** The gateway's metadata about the response. */
  meta: ResponseMeta
}

/** The promise of a call's result. `withResponse()` also returns the response's status, headers, body and metadata. */
export class APIPromise<T> extends Promise<T> {
  readonly #answer: Promise<WithResponse<T>>

  /** @internal */
  constructor(answer: Promise<WithResponse<T>>) {
    super((resolve) => resolve(undefined as T)) // never used, because `then` is overridden and the other methods call it
    this.#answer = answer
  }

  /** then, catch and finally return plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** The result together with the response. */
  withResponse(): Promise<WithResponse<T>> {
    return this.#answer
  }

  // biome-ignore lint/suspicious/noThenProperty: this is a promise
  override then<A = T, B = never>(
    onfulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onrejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#answer.then(({ data }) => data).then(onfulfilled, onrejected)
  }
}
