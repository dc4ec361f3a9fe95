import {
  ABI_VERSION,
  type Bytes,
  type Call,
  type Configured,
  type Event,
  type Headers,
  LENGTH_BYTES,
  MEMORY_CEILING_BYTES,
  NO_BYTES,
  type ObjectInput,
  type ObjectOutput,
  Reader,
  readConfigured,
  readObjectOutput,
  readStepOutput,
  type StepInput,
  type StepOutput,
  Writer,
  writeConfig,
  writeObjectInput,
  writeStepInput,
} from './abi.ts'

/** The exports of core/wasm, which documents their protocol. */
interface CoreExports extends Record<Call, (size: number) => number> {
  memory: WebAssembly.Memory
  _initialize?(): void
  abi_version(): number
  reserve(size: number): number
}

/**
 * The core: one WebAssembly instance per isolate, shared by all exchanges and objects. Calls are synchronous, so they
 * never overlap. An instance that has trapped or outgrown its memory limit is replaced before the next call. Only the
 * failed call is lost.
 */
export class Engine {
  protected exports: CoreExports | undefined
  private view: Bytes = NO_BYTES
  private settings: Headers | undefined
  private configured: Configured | undefined
  private readonly module: WebAssembly.Module
  private readonly catalog: Bytes
  private readonly reader = new Reader()
  private readonly writer = new Writer()
  private readonly direct = new Writer() // writes into the instance's memory

  /** catalog is the content of core/catalog/catalog.bin. */
  constructor(module: WebAssembly.Module, catalog: Bytes) {
    this.module = module
    this.catalog = catalog
    this.exports = instantiate(module)
  }

  /** Configures the core on first use with the text values of env, which is available only in a request. */
  start(env: object): Configured {
    this.settings ??= textBindings(env)
    return this.ready()
  }

  step(
    nowMs: number,
    shared: Bytes,
    state: Bytes,
    attached: Bytes,
    pinned: Bytes,
    event: Event,
    waiting = 0,
  ): StepOutput {
    this.ready()
    const input = { nowMs, shared, state, attached, pinned, waiting, event }
    return this.guarded(() => readStepOutput(this.runStep(input)))
  }

  reads(input: ObjectInput): ObjectOutput {
    return this.object('reads', input)
  }

  apply(input: ObjectInput): ObjectOutput {
    return this.object('apply', input)
  }

  private object(call: Call, input: ObjectInput): ObjectOutput {
    const { error } = this.ready()
    if (error !== '') throw new Error(error)
    writeObjectInput(this.writer.clear(), input)
    return this.guarded(() => readObjectOutput(this.run(call)))
  }

  // Returns the configuration. If the instance must be replaced, that is done first.
  private ready(): Configured {
    if (this.view.length > MEMORY_CEILING_BYTES) this.exports = undefined
    if (this.exports !== undefined && this.configured !== undefined) return this.configured
    if (this.settings === undefined) throw new Error('core: used before start')
    this.exports ??= instantiate(this.module)
    writeConfig(this.writer.clear(), { catalog: this.catalog, env: this.settings })
    this.configured = this.guarded(() => readConfigured(this.run('configure')))
    return this.configured
  }

  private guarded<T>(run: () => T): T {
    try {
      return run()
    } catch (error) {
      this.exports = undefined
      this.view = NO_BYTES
      throw error
    }
  }

  // Passes the writer's bytes, and opens the reader on the result.
  private run(call: Call): Reader {
    const exports = this.exports as CoreExports
    const message = this.writer.written()
    const input = exports.reserve(message.length)
    this.memory(exports).set(message, input)
    return this.result(exports, exports[call](message.length))
  }

  // Writes the input of a step into the instance's memory, which saves a copy of it.
  private runStep(input: StepInput): Reader {
    const exports = this.exports as CoreExports
    const start = exports.reserve(mostBytes(input))
    const memory = this.memory(exports)
    const writer = this.direct.into(memory, start)
    writeStepInput(writer, input)
    if (writer.bytes !== memory) throw new Error('core: the input does not fit')
    const { data } = input.event
    if (data.length > 0) memory.set(data, writer.length)
    return this.result(exports, exports.step(writer.length + data.length - start))
  }

  private result(exports: CoreExports, output: number): Reader {
    const memory = this.memory(exports)
    return this.reader.open(memory, output + LENGTH_BYTES, length32(memory, output))
  }

  // When memory grows, the old buffer is detached. If that might have happened, the view is created again.
  private memory(exports: CoreExports): Bytes {
    const buffer = exports.memory.buffer as ArrayBuffer
    if (this.view.buffer !== buffer) this.view = new Uint8Array(buffer)
    return this.view
  }
}

// The most bytes that the numbers in a step's input take.
const NUMBERS_BYTES = 128

// The most bytes that a step's input takes. Each header has a length, and a UTF-16 unit takes at most three bytes.
function mostBytes({ shared, state, attached, pinned, event }: StepInput): number {
  let most = NUMBERS_BYTES + shared.length + state.length + attached.length + pinned.length + event.data.length
  for (const text of event.headers) most += text.length * 3 + 8
  return most
}

function instantiate(module: WebAssembly.Module): CoreExports {
  const exports = new WebAssembly.Instance(module, {}).exports as unknown as CoreExports
  exports._initialize?.()
  const version = exports.abi_version()
  if (version !== ABI_VERSION) throw new Error(`core has ABI version ${version}, want ${ABI_VERSION}`)
  return exports
}

function textBindings(env: object): Headers {
  const texts: Headers = []
  for (const [name, value] of Object.entries(env)) if (typeof value === 'string') texts.push(name, value)
  return texts
}

function length32(bytes: Bytes, at: number): number {
  let length = 0
  for (let i = LENGTH_BYTES - 1; i >= 0; i--) length = length * 256 + (bytes[at + i] ?? 0)
  return length
}
