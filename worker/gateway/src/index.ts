import module from '../../../build/core.wasm'
import catalog from '../../../core/catalog/catalog.bin'
import { CLASS_DIRECTORY, CLASS_KEY_METER, CLASS_LEDGER } from './abi.ts'
import { PosternObject } from './durable.ts'
import { Engine } from './engine.ts'
import { serve } from './host.ts'
import { Isolate } from './isolate.ts'

const isolate = new Isolate(new Engine(module, new Uint8Array(catalog)))

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
