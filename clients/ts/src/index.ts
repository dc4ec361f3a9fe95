/**
 * The official client of Postern, an AI gateway.
 *
 * @packageDocumentation
 */
export type {
  AI,
  ChatParams,
  CompleteParams,
  Completion,
  ContentMessage,
  ContentPart,
  Embedding,
  EmbedParams,
  FilePart,
  FinishReason,
  Governance,
  ImagePart,
  Message,
  Served,
  TextPart,
  TokenCount,
  ToolCallMessage,
  ToolMessage,
  Usage,
  ValidatedCompletion,
  Verdict,
} from './ai.js'
export { Postern, Postern as default } from './client.js'
export type {
  ActionCounts,
  BillOfMaterials,
  Compliance,
  ComplianceExport,
  ComplianceSummary,
  ExportHeader,
  ExportLine,
  ExportParams,
  ExportRecord,
  GovernorCoverage,
} from './compliance.js'
export type { ExceededBudget, Finding, Problem } from './errors.js'
export {
  APIAbortedError,
  APIConnectionError,
  APIError,
  APITimeoutError,
  AuthenticationError,
  BadRequestError,
  BlockedByPolicyError,
  BudgetExceededError,
  ConfigurationError,
  ConflictError,
  InternalServerError,
  InvalidResponseError,
  NotFoundError,
  OutputValidationError,
  PermissionDeniedError,
  PosternError,
  RateLimitError,
  RequestTooLargeError,
  StreamError,
  UnprocessableEntityError,
  WebhookVerificationError,
} from './errors.js'
export type { ChatEvent, DeltaEvent, DoneEvent } from './events.js'
export type { Direction, Governor, TextValidation, Validation } from './governor.js'
export type { IncomingResponse, OutgoingRequest, RequestHook, ResponseHook } from './hooks.js'
export type { KeyFunction } from './key.js'
export type { LogLevel, LogRecord } from './log.js'
export type { Attempts, Deprecation, GovernorDecision, RateLimit, ResponseMeta } from './meta.js'
export type {
  AvailableModel,
  ChangedModel,
  Model,
  ModelChange,
  ModelFields,
  ModelFilters,
  ModelPage,
  ModelState,
  Models,
  ModelTransition,
  NewModel,
  SeenModel,
} from './models.js'
export type { CallOptions, ClientOptions, Environment, Fetch, GovernorOptions, LoggingOptions } from './options.js'
export type { Page, PagePromise } from './page.js'
export type { APIPromise, WithResponse } from './promise.js'
export type { Health, HealthStatus, PromptCacheUsage, UsageParams, UsageReport, UsageReports } from './reports.js'
export type { Issue, StandardIssue, StandardResult, StandardSchema } from './schema.js'
export type { ChatStream, StreamPromise, ValidatedChatStream } from './stream.js'
export type { Tool, ToolCall, ToolCallDeltaEvent, ToolCallEvent, ToolChoice } from './tools.js'
export { VERSION } from './version.js'
export type {
  Violation,
  ViolationChange,
  ViolationFilters,
  ViolationState,
  Violations,
} from './violations.js'
export type {
  BudgetThresholdEvent,
  Checkpoint,
  ComplianceCheckpointEvent,
  OtherWebhookEvent,
  ViolationCreatedEvent,
  WebhookEvent,
  WebhookEventFields,
  WebhookHeaders,
  WebhookOptions,
} from './webhooks.js'
export { verifyWebhook } from './webhooks.js'
