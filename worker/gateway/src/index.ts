import module from '../../../build/core.wasm'
import catalog from '../../../core/catalog/catalog.bin'
import { CLASS_DIRECTORY, CLASS_KEY_METER, CLASS_LEDGER, NO_BYTES } from './abi.ts'
import { Colo } from './colo.ts'
import { Core } from './core.ts'
import { serve } from './exchange.ts'
import { Flights } from './flight.ts'
import type { Isolate } from './isolate.ts'
import { Memory } from './memory.ts'
import { PosternObject } from './objects.ts'
import { Pinned } from './pinned.ts'

const isolate: Isolate = {
  core: new Core(module, new Uint8Array(catalog)),
  memory: new Memory(),
  colo: new Colo(),
  flights: new Flights(),
  pinned: new Pinned(),
  shared: NO_BYTES,
}

export default {
  fetch: (request, env, ctx) => serve(isolate, request, env, ctx),
} satisfies ExportedHandler<Env>

export class KeyMeter extends PosternObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, isolate, CLASS_KEY_METER)
  }
}

export class Ledger extends PosternObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, isolate, CLASS_LEDGER)
  }
}

export class Directory extends PosternObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, isolate, CLASS_DIRECTORY)
  }
}
