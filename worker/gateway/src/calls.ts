import { type Bytes, CLASS_DIRECTORY, CLASS_KEY_METER, CLASS_LEDGER } from './abi.ts'
import type { PosternObject } from './objects.ts'

type Namespace = DurableObjectNamespace<PosternObject>

/** The bindings for calls and deliveries. */
export interface Objects {
  KEY_METER: Namespace
  LEDGER: Namespace
  DIRECTORY: Namespace
}

/**
 * Calls the object (objectClass, name), created near region. A failure that the platform marks as retryable is retried
 * once on a new stub, because the old one stays broken.
 */
export async function callObject(
  env: Objects,
  objectClass: number,
  name: string,
  region: string,
  command: Bytes,
): Promise<Bytes> {
  try {
    return await stubOf(env, objectClass, name, region).call(command)
  } catch (error) {
    if (!has(error, 'retryable') || isOverloaded(error)) throw error
    return await stubOf(env, objectClass, name, region).call(command)
  }
}

/** Reports whether the object was overloaded. Such a call must not be retried. */
export function isOverloaded(error: unknown): boolean {
  return has(error, 'overloaded')
}

function has(error: unknown, mark: string): boolean {
  return (error as Record<string, unknown> | null)?.[mark] === true
}

function stubOf(env: Objects, objectClass: number, name: string, region: string): DurableObjectStub<PosternObject> {
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
