import { type Action, LOG_INFO, LOG_NONE } from './abi.ts'

/** The source of a log line: an object, or an exchange with its configuration error, if any. */
type Subject = { requestId: string; message?: string } | { object: string }

/**
 * Logs a failure of this host as a code and the error's class. It does not log the error's message, because that can
 * contain a URL, a header or request data.
 */
export function logFailure(code: string, subject: Subject, error?: unknown): void {
  const cause = error instanceof Error ? error.name : undefined
  console.error(JSON.stringify({ level: 'error', ...subject, code, cause }))
}

const decoder = new TextDecoder()

/** Carries out an ActionLog. */
export function log({ code, data }: Action): void {
  if (code === LOG_NONE) return
  const line = decoder.decode(data)
  if (code === LOG_INFO) console.log(line)
  else console.error(line)
}
