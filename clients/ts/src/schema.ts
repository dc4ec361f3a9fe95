// Structured output: any validator of the Standard Schema specification, version 1 (https://standardschema.dev), such
// as Zod, Valibot or ArkType.
import type { Completion } from './ai.js'
import { ConfigurationError, OutputValidationError } from './errors.js'
import { andMore } from './failure.js'
import { parsed } from './json.js'

/** The part of a Standard Schema that the client uses. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    /** The JSON Schema of the validator's input. Source: https://standardschema.dev/json-schema, 2026-11. */
    readonly jsonSchema?:
      | { readonly input: (options: { target: 'draft-2020-12' }) => Record<string, unknown> }
      | undefined
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

/** The result of a validator: a value or issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** An issue that a validator reports. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A problem with the model's output. */
export interface Issue {
  message: string
  /** Field names and array indexes, from the root of the output. */
  path: (string | number)[]
}

/** Throws a ConfigurationError if a value is not a Standard Schema. */
export function checkSchema(schema: StandardSchema): void {
  if (typeof schema?.['~standard']?.validate !== 'function') {
    throw new ConfigurationError(
      'schema must be a Standard Schema (https://standardschema.dev), such as one of Zod 3.24 or later',
    )
  }
}

/** The JSON Schema of a schema. If there is none, it is undefined, and only the client validates. */
export function jsonSchemaOf(schema: StandardSchema): Record<string, unknown> | undefined {
  try {
    return schema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    return undefined
  }
}

/**
 * The validated output of a completion. If the completion has tool calls but no text, the result is undefined. The
 * gateway does not validate such a completion either.
 */
export async function validated<T>(schema: StandardSchema<T>, completion: Completion): Promise<T | undefined> {
  if (completion.text === '' && completion.toolCalls.length > 0) return undefined
  const value = parsed(completion.text)
  if (value === undefined) {
    const issues = [{ message: 'The output is not JSON', path: [] }]
    throw new OutputValidationError('The output is not JSON', { issues, completion })
  }
  const result = await schema['~standard'].validate(value)
  if (!result.issues) return result.value
  const issues = result.issues.map(({ message, path = [] }) => ({ message, path: path.map(plainKey) }))
  const first = issues
    .slice(0, 1)
    .map(({ path, message }) => `${path.length > 0 ? `${placeOf(path)}: ` : ''}${message}`)
  const message = `The output does not match the schema: ${first}${andMore(issues.length)}`
  throw new OutputValidationError(message, { issues, completion })
}

/** `cities[2].name` */
function placeOf(path: Issue['path']): string {
  const parts = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
  return parts.join('').replace(/^\./, '')
}

function plainKey(key: PropertyKey | { readonly key: PropertyKey }): string | number {
  const plain = typeof key === 'object' ? key.key : key
  return typeof plain === 'symbol' ? String(plain) : plain
}
