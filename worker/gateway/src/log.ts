/** An exchange, with what is wrong with the configuration if that is it, or an object. */
type Subject = { requestId: string; wrong?: string } | { object: string }

/**
 * Logs what this host could not do: a code, and the class of the error. Not its text, which may hold a URL, a
 * header or what the core choked on.
 */
export function logFailure(code: string, subject: Subject, error?: unknown): void {
  const cause = error instanceof Error ? error.name : undefined
  console.error(JSON.stringify({ level: 'error', ...subject, code, cause }))
}
