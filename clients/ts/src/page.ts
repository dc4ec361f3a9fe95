// Paginated lists.
import { isObject, parsed } from './json.js'
import type { CallOptions } from './options.js'
import { APIPromise, type WithResponse } from './promise.js'
import type { Query } from './query.js'
import { checkParams } from './request.js'
import { type Transport, withResponse } from './transport.js'

/** A page of a list. Iterating over it yields its items, then those of all following pages. */
export class Page<Item> implements AsyncIterable<Item> {
  /** The items of this page. May be empty even if there is a next page. */
  readonly items: Item[]
  /** The cursor of the next page; null on the last page. */
  readonly next: string | null
  readonly #load: (after: string) => Promise<Page<Item>>

  /** @internal */
  constructor(items: Item[], next: string | null, load: (after: string) => Promise<Page<Item>>) {
    this.items = items
    this.next = next
    this.#load = load
  }

  /** Gets the next page; null on the last page. */
  async nextPage(): Promise<this | null> {
    return this.next === null ? null : ((await this.#load(this.next)) as this)
  }

  /** Iterates over this page and all following pages. */
  async *pages(): AsyncGenerator<this, void, undefined> {
    for (let page: this | null = this; page; page = await page.nextPage()) yield page
  }

  /** Iterates over the items of this page and all following pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.items
  }
}

/** The promise of a list's first page. Iterating over the promise yields the items of all pages. */
export class PagePromise<Item, P extends Page<Item> = Page<Item>> extends APIPromise<P> implements AsyncIterable<Item> {
  /** Iterates over the items of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    yield* await this
  }
}

/** A list's endpoint. `make` builds a page from the response's body. */
export interface List<Item, P extends Page<Item>> {
  path: string
  /** The field with the items. */
  member: string
  make(items: Item[], next: string | null, load: (after: string) => Promise<P>, body: Record<string, unknown>): P
}

/** Gets the first page of a list. */
export function firstPage<Item, P extends Page<Item>>(
  transport: Transport,
  list: List<Item, P>,
  filters: object,
  options: CallOptions,
): PagePromise<Item, P> {
  const load = async (query: Query): Promise<WithResponse<P>> => {
    checkParams(query)
    const sent = { ...query } // a copy, because the caller may change the object before the next page
    const received = await transport.whole({ method: 'GET', path: list.path, query: sent }, options)
    const value = parsed(received.body)
    const body = isObject(value) ? value : {}
    const { next, [list.member]: items } = body
    if (!Array.isArray(items) || !(next === null || typeof next === 'string')) {
      throw transport.invalid(received, `has no list of ${list.member}`)
    }
    const more = async (after: string) => {
      if (after === sent.after) throw transport.invalid(received, 'has itself as its next page')
      return (await load({ ...sent, after })).data
    }
    return withResponse(list.make(items as Item[], next, more, body), received)
  }
  return new PagePromise(load(filters as Query))
}
