import { type Bytes, CLASS_DIRECTORY, CLASS_KEY_METER, CLASS_LEDGER, type Delivery } from './abi.ts'

/** An object that runs commands. */
interface Callable extends Rpc.DurableObjectBranded {
  call(command: Bytes): Bytes
}

type Namespace = DurableObjectNamespace<Callable>

/** The bindings that calls and deliveries use. */
export interface Objects {
  KEY_METER: Namespace
  LEDGER: Namespace
  DIRECTORY: Namespace
}

/** The fields that an ActionCall and a Delivery have in common. */
type Call = Pick<Delivery, 'class' | 'name' | 'region' | 'data'>

/**
 * Calls an object, which is created near region. If the platform marks a failure as retryable, the call is retried
 * once. The retry uses a new stub, because the old one stays broken.
 */
export async function callObject(env: Objects, call: Call): Promise<Bytes> {
  try {
    return await stubOf(env, call).call(call.data)
  } catch (error) {
    if (!has(error, 'retryable') || isOverloaded(error)) throw error
    return await stubOf(env, call).call(call.data)
  }
}

/** Reports whether the object was overloaded. The call must then not be retried. */
export function isOverloaded(error: unknown): boolean {
  return has(error, 'overloaded')
}

function has(error: unknown, mark: string): boolean {
  return (error as Record<string, unknown> | null)?.[mark] === true
}

function stubOf(env: Objects, { class: objectClass, name, region }: Call): DurableObjectStub<Callable> {
  const namespace = namespaceOf(env, objectClass)
  const id = namespace.idFromName(name)
  if (region === '') return namespace.get(id)
  return namespace.get(id, { locationHint: region as DurableObjectLocationHint })
}

function namespaceOf(env: Objects, objectClass: number): Namespace {
  switch (objectClass) {
    case CLASS_KEY_METER:
      return env.KEY_METER
    case CLASS_LEDGER:
      return env.LEDGER
    case CLASS_DIRECTORY:
      return env.DIRECTORY
    default:
      throw new Error(`no object class ${objectClass}`)
  }
}
