import { Postern } from '@postern-ai/client'
import { createChatHandler } from '@postern-ai/client/handler'
import { Hono } from 'hono'
import { userOf } from './session.mjs'

const chat = createChatHandler({
  client: new Postern(),
  authorize: (request) => userOf(request.headers.get('cookie')),
})

const app = new Hono()
app.all('/api/chat', (context) => chat(context.req.raw))
export default app
