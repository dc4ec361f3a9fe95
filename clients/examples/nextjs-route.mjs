// The module of the route /api/chat in a Next.js app.
import { Postern } from '@postern-ai/client'
import { createChatHandler } from '@postern-ai/client/handler'
import { userOf } from './session.mjs'

export const POST = createChatHandler({
  client: new Postern(),
  authorize: (request) => userOf(request.headers.get('cookie')),
  prepare: ({ messages }, user) => ({
    messages: [{ role: 'system', content: `The user is ${user.name}.` }, ...messages],
    quality: 'cheap',
    maxTokens: 500,
  }),
  onError: (error) => console.error(error),
})
