// The types of the models. ai 6 and ai 7 have different versions of @ai-sdk/provider. In ai 7's types for
// specification v3, JSON is read-only. ai 6 does not accept read-only JSON. There are no other differences.
import type {
  EmbeddingModelV3,
  EmbeddingModelV3CallOptions,
  EmbeddingModelV3Result,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
  ProviderV3,
} from '@ai-sdk/provider'

type Json = null | string | number | boolean | Json[] | JsonObject
type JsonObject = { [name: string]: Json | undefined }
/** The fields that contain JSON. Mapping the JSON type itself would never end. */
type Members = { providerMetadata: Record<string, JsonObject>; raw: JsonObject; result: NonNullable<Json> }
type Whole = string | number | boolean | bigint | null | undefined | Date | Uint8Array | Error

type Mutable<T> = unknown extends T
  ? T
  : T extends Whole
    ? T
    : T extends ReadableStream<infer Part>
      ? ReadableStream<Mutable<Part>>
      : {
          [M in keyof T]: NonNullable<T[M]> extends string ? T[M] : M extends keyof Members ? Members[M] : Mutable<T[M]>
        }

export type GenerateResult = Mutable<LanguageModelV3GenerateResult>
export type StreamResult = Mutable<LanguageModelV3StreamResult>
export type StreamPart = Mutable<LanguageModelV3StreamPart>
export type EmbeddingResult = Mutable<EmbeddingModelV3Result>

/** A chat model of specification v3, for ai 6 and ai 7. */
export interface ChatModel extends LanguageModelV3 {
  doGenerate(options: LanguageModelV3CallOptions): PromiseLike<GenerateResult>
  doStream(options: LanguageModelV3CallOptions): PromiseLike<StreamResult>
}

/** An embedding model of specification v3, for ai 6 and ai 7. */
export interface EmbeddingModel extends EmbeddingModelV3 {
  doEmbed(options: EmbeddingModelV3CallOptions): PromiseLike<EmbeddingResult>
}

/** A provider of specification v3, for ai 6 and ai 7. It leaves out the optional fields. */
export interface Provider extends Pick<ProviderV3, 'specificationVersion'> {
  languageModel(modelId: string): ChatModel
  embeddingModel(modelId: string): EmbeddingModel
  /** Throws `NoSuchModelError`. */
  imageModel(modelId: string): never
}
