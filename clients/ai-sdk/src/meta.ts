// Puts the gateway's metadata about a response where the AI SDK expects it.
import type { SharedV3ProviderMetadata, SharedV3Warning, SharedV4Warning } from '@ai-sdk/provider'
import { metaOf, type ResponseMeta } from '@postern-ai/client/adapter'

interface Result {
  response?: { headers?: Record<string, string> }
  warnings: SharedV4Warning[]
  providerMetadata?: SharedV3ProviderMetadata
}

/** Adds the metadata of a non-streaming response to a model's result. */
export function annotated<T extends Result>(result: T) {
  const meta = metaOf(new Headers(result.response?.headers))
  const warnings = warningsOf(result.warnings, meta)
  return { ...result, warnings, providerMetadata: withMeta(result.providerMetadata, meta) }
}

/** Adds the metadata to a result's provider metadata, as `postern`. */
export function withMeta(metadata: SharedV3ProviderMetadata | undefined, meta: ResponseMeta): SharedV3ProviderMetadata {
  return { ...metadata, postern: { ...metadata?.postern, ...meta } as SharedV3ProviderMetadata[string] }
}

/** Adds dropped parameters and model deprecations to the AI SDK's warnings. */
export function warningsOf(given: SharedV4Warning[], meta: ResponseMeta): SharedV3Warning[] {
  const { droppedParams, deprecation, model, registryWarning } = meta
  const warnings = given.map(inV3)
  for (const feature of droppedParams) {
    const details = `The model ${model} does not support it; the gateway dropped it.`
    warnings.push({ type: 'unsupported', feature, details })
  }
  if (deprecation) {
    const until = deprecation.sunset ? `retired at ${deprecation.sunset}` : 'retired'
    const instead = deprecation.successor ? ` Use ${deprecation.successor}.` : ''
    warnings.push({ type: 'other', message: `The model ${model} is deprecated and will be ${until}.${instead}` })
  }
  if (registryWarning) {
    warnings.push({ type: 'other', message: `The project's registry has the model ${model} as ${registryWarning}.` })
  }
  return warnings
}

// Specification v3 has no warnings of the type `deprecated`.
function inV3(warning: SharedV4Warning): SharedV3Warning {
  if (warning.type !== 'deprecated') return warning
  return { type: 'other', message: `${warning.setting} is deprecated. ${warning.message}` }
}
