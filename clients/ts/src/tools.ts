// Tools: functions that the model may call.
import { isObject, parsed } from './json.js'

/** A function that the model may call. */
export interface Tool {
  /** 1 to 64 letters, digits, `_` and `-`. */
  name: string
  /** What the function does, as a description for the model. */
  description?: string | undefined
  /** The JSON Schema of its arguments. */
  parameters?: Record<string, unknown> | undefined
}

/** Whether the model may, must or must not call a tool, or which tool it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string }

/** The model's call to a tool. */
export interface ToolCall {
  /** Repeated as the `toolCallId` of the message with its result. */
  id: string
  name: string
  /** Arguments that are not a JSON object become `{ _invalid: '…' }`. */
  arguments: Record<string, unknown>
}

/** The beginning of a tool call in a stream. */
export interface ToolCallEvent {
  type: 'toolCall'
  /** Position of the call within the response, starting at 0. */
  index: number
  id: string
  name: string
}

/** A piece of a tool call's arguments in a stream. */
export interface ToolCallDeltaEvent {
  type: 'toolCallDelta'
  /** The same as in the beginning of the call. */
  index: number
  /** A piece of JSON text. */
  arguments: string
}

/** Whether a value is a well-formed tool call event. */
export function isToolEvent(event: Record<string, unknown>): boolean {
  const { type, index, id, name } = event
  if (!Number.isSafeInteger(index)) return false
  return type === 'toolCall' ? typeof id === 'string' && typeof name === 'string' : typeof event.arguments === 'string'
}

/** Collects the tool calls of a stream. */
export class ToolCalls {
  readonly #calls = new Map<number, { id: string; name: string; text: string }>()

  add(event: ToolCallEvent | ToolCallDeltaEvent): void {
    const { index } = event
    if (event.type === 'toolCall') this.#calls.set(index, { id: event.id, name: event.name, text: '' })
    else {
      const call = this.#calls.get(index)
      if (call) call.text += event.arguments
    }
  }

  /** The calls by their index. */
  all(): ToolCall[] {
    const sorted = [...this.#calls].sort(([a], [b]) => a - b)
    return sorted.map(([, { id, name, text }]) => ({ id, name, arguments: argumentsOf(text) }))
  }
}

/** Arguments as the gateway returns them in a non-streaming response. */
function argumentsOf(text: string): Record<string, unknown> {
  const value = parsed(text || '{}')
  return isObject(value) ? value : { _invalid: text }
}
