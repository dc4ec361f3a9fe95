import { ADDRESS_HEADER, type Headers as Fields } from './abi.ts'
import { logFailure } from './log.ts'
import type { Incoming } from './request.ts'

/** Passes a request to the control plane. Returns undefined if it cannot be reached. Never rejects. */
export async function forward(incoming: Incoming, fields: Fields): Promise<Response | undefined> {
  try {
    return await incoming.env.CONTROL.fetch(forwarded(incoming, fields))
  } catch (error) {
    logFailure('control_unreachable', { requestId: incoming.id }, error)
    return undefined
  }
}

function forwarded({ request, address }: Incoming, fields: Fields): Request {
  const headers = new Headers(request.headers)
  for (let i = 0; i < fields.length; i += 2) headers.set(fields[i] as string, fields[i + 1] as string)
  if (address === '') headers.delete(ADDRESS_HEADER)
  else headers.set(ADDRESS_HEADER, address)
  return new Request(request, { headers, redirect: 'manual' })
}
