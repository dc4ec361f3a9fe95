// The project's model registry: /api/models-registry. It needs a project key (`pk_`).
import { textOf } from './json.js'
import type { CallOptions } from './options.js'
import { firstPage, Page, type PagePromise } from './page.js'
import type { APIPromise } from './promise.js'
import { checkParams, pathPart } from './request.js'
import type { Transport } from './transport.js'

/** The state of a model. `discovered` is a model that was used but has no entry. */
export type ModelState = 'discovered' | 'pending' | 'approved' | 'restricted' | 'deprecated' | 'retired' | 'blocked'

/** What a project records about a model. Times are ISO 8601. */
export interface Model {
  id: string
  /** Name in the catalog. */
  model: string
  state: ModelState
  /** Who is responsible for the model's use. */
  owner: string | null
  purpose: string | null
  riskTier: 'minimal' | 'limited' | 'high' | 'unacceptable' | null
  /** Classes of data that may be sent to the model. */
  dataClasses: string[]
  regions: string[]
  /** How long the provider keeps the data it receives. */
  retention: string | null
  links: string[]
  reviewDate: string | null
  /** The model to use instead. */
  successor: string | null
  /** IDs of the keys that may use a restricted model. */
  keys: string[]
  deprecatedAt: string | null
  /** When a deprecated model is to be retired. The registry does not retire it automatically. */
  sunsetAt: string | null
  /** The newest 50; the oldest of them comes first. */
  approvals: { by: string; at: string; reason: string; state: 'approved' | 'restricted' }[]
  /** The newest 50 transitions, oldest first. */
  history: { from: ModelState; to: ModelState; by: string; at: string; reason: string | null }[]
  /** Increases by 1 with each change; 0 for a model without an entry. */
  version: number
  createdAt: string | null
  updatedAt: string | null
  /** Whether the review date has passed and the model is not retired. */
  reviewOverdue: boolean
}

/** A model with its use in the last 90 days. */
export interface SeenModel extends Model {
  /** The day of the last use, or null if the model was not used. */
  firstSeen: string | null
  lastSeen: string | null
  requests: number
}

/** A model after a change. `pending`: some of the project's keys will receive the change within minutes. */
export interface ChangedModel extends Model {
  delivery: 'delivered' | 'pending'
}

/** Selects the models to list. */
export interface ModelFilters {
  /** Only models whose name contains this text, ignoring case. */
  q?: string | undefined
  state?: ModelState | undefined
  /** Models per page, 1 to 100. Default 50. */
  limit?: number | undefined
  /** The `next` of an earlier page. */
  after?: string | undefined
}

/** The fields that can be set on an entry. Null clears a field. */
export interface ModelFields {
  owner?: string | null | undefined
  purpose?: string | null | undefined
  riskTier?: Model['riskTier'] | undefined
  dataClasses?: string[] | undefined
  regions?: string[] | undefined
  retention?: string | null | undefined
  /** https URLs. */
  links?: string[] | undefined
  reviewDate?: string | Date | null | undefined
  successor?: string | null | undefined
}

/** A new entry. */
export interface NewModel extends ModelFields {
  /** A name, an alias or `provider/name` from the catalog. */
  model: string
}

/** A change to an entry. Missing fields stay unchanged. */
export interface ModelChange extends ModelFields {
  /** Only for deprecated models. */
  sunsetAt?: string | Date | null | undefined
  /** The version that the change is based on. If it is outdated, the change fails with a ConflictError. */
  version?: number | undefined
}

/** A change to a model's state. */
export interface ModelTransition {
  to: Exclude<ModelState, 'discovered'>
  /** Required for `approved`, `restricted` and `blocked`. */
  reason?: string | null | undefined
  /** The version that the change is based on, 0 for a model without an entry. */
  version?: number | undefined
  /** IDs of keys. Required for `restricted`, and only allowed there. */
  keys?: string[] | undefined
  /** For `deprecated` only. */
  sunsetAt?: string | Date | null | undefined
  successor?: string | null | undefined
}

/** A page of models. */
export class ModelPage extends Page<SeenModel> {
  /** With `enforce`, models that are not approved are refused. With `warn`, they are reported. */
  readonly enforcement: 'off' | 'warn' | 'enforce'
  /** Version of the project's policy; 0 if it has none. */
  readonly policyVersion: number
  readonly delivery: ChangedModel['delivery']

  /** @internal */
  constructor(
    items: SeenModel[],
    next: string | null,
    load: (after: string) => Promise<ModelPage>,
    body: Pick<ModelPage, 'enforcement' | 'policyVersion' | 'delivery'>,
  ) {
    super(items, next, load)
    this.enforcement = body.enforcement
    this.policyVersion = body.policyVersion
    this.delivery = body.delivery
  }
}

/** A model or a tier that a key may use. */
export interface AvailableModel {
  /** The value to pass as a completion's `model`: the name of a model, or a tier. */
  id: string
  /** The provider of a model; `postern` for a tier. */
  ownedBy: string
}

const PATH = '/api/models-registry'

/**
 * The model registry and the models that a key may use. The registry needs a project key. If an error leaves open
 * whether a change was made, the change is not retried.
 */
export class Models {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Lists the models and tiers that the client's key may use. It needs the permission `models`, with either kind of key. */
  available(options: CallOptions = {}): APIPromise<AvailableModel[]> {
    return this.#transport.json({ method: 'GET', path: '/v1/models' }, options, ({ data }, received) => {
      if (!Array.isArray(data) || !data.every((model) => typeof model?.id === 'string'))
        throw this.#transport.invalid(received, 'has no list of models')
      return data.map(({ id, owned_by }) => ({ id, ownedBy: textOf(owned_by) ?? '' }))
    })
  }

  /** Lists models by name. Used models without an entry are `discovered`. */
  list(filters: ModelFilters = {}, options: CallOptions = {}): PagePromise<SeenModel, ModelPage> {
    const list = {
      path: PATH,
      member: 'models',
      make: (
        items: SeenModel[],
        next: string | null,
        load: (after: string) => Promise<ModelPage>,
        body: Record<string, unknown>,
      ) => new ModelPage(items, next, load, body as unknown as ModelPage),
    }
    return firstPage(this.#transport, list, filters, options)
  }

  /** Gets an entry with its approvals and history. */
  get(id: string, options: CallOptions = {}): APIPromise<SeenModel> {
    const call = () => ({ method: 'GET' as const, path: pathOf(id) })
    return this.#transport.json<SeenModel>(call, options)
  }

  /** Registers a model, which becomes `pending`. Fails with a ConflictError if the model already has an entry. */
  create(fields: NewModel, options: CallOptions = {}): APIPromise<ChangedModel> {
    return this.#change('POST', () => PATH, fields, options)
  }

  /** Changes an entry's fields. */
  update(id: string, change: ModelChange, options: CallOptions = {}): APIPromise<ChangedModel> {
    return this.#change('PATCH', () => pathOf(id), change, options)
  }

  /** Changes a model's state. Fails with a ConflictError if the current state does not allow the change. */
  transition(id: string, transition: ModelTransition, options: CallOptions = {}): APIPromise<ChangedModel> {
    return this.#change('POST', () => `${pathOf(id)}/transitions`, transition, options)
  }

  #change(method: 'POST' | 'PATCH', path: () => string, body: object, options: CallOptions): APIPromise<ChangedModel> {
    const call = () => {
      checkParams(body)
      return { method, path: path(), body, repeatable: false }
    }
    return this.#transport.json<ChangedModel>(call, options)
  }
}

function pathOf(id: string): string {
  return `${PATH}/${pathPart(id, 'id')}`
}
