// What the gateway says about a response, in the places that the AI SDK has for it.
import type { SharedV4ProviderMetadata, SharedV4Warning } from '@ai-sdk/provider'
import { metaOf, type ResponseMeta } from '@postern-ai/client/adapter'

interface Result {
  response?: { headers?: Record<string, string> }
  warnings: SharedV4Warning[]
  providerMetadata?: SharedV4ProviderMetadata
}

/** Adds the meta of a whole response to a model's result. */
export function annotated<T extends Result>(result: T): T {
  const meta = metaOf(new Headers(result.response?.headers))
  const warnings = [...result.warnings, ...warningsOf(meta)]
  return { ...result, warnings, providerMetadata: withMeta(result.providerMetadata, meta) }
}

/** Adds the meta to a result's provider metadata, as `postern`. */
export function withMeta(metadata: SharedV4ProviderMetadata | undefined, meta: ResponseMeta): SharedV4ProviderMetadata {
  return { ...metadata, postern: { ...metadata?.postern, ...meta } as SharedV4ProviderMetadata[string] }
}

/** Says which parameters were dropped, and whether the model is about to go, as the AI SDK's warnings. */
export function warningsOf({ droppedParams, deprecation, model, registryWarning }: ResponseMeta): SharedV4Warning[] {
  const warnings: SharedV4Warning[] = droppedParams.map((feature) => {
    return { type: 'unsupported', feature, details: `The model ${model} does not support it; the gateway dropped it.` }
  })
  if (deprecation) {
    const until = deprecation.sunset ? `It will be retired at ${deprecation.sunset}.` : 'It will be retired.'
    const instead = deprecation.successor ? ` Use ${deprecation.successor}.` : ''
    warnings.push({ type: 'deprecated', setting: `model ${model}`, message: until + instead })
  }
  if (registryWarning) {
    warnings.push({ type: 'other', message: `The project's registry has the model ${model} as ${registryWarning}.` })
  }
  return warnings
}
