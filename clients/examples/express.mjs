import { Postern } from '@postern-ai/client'
import { createChatHandler } from '@postern-ai/client/express'
import express from 'express'
import { userOf } from './session.mjs'

const chat = createChatHandler({
  client: new Postern(),
  authorize: (request) => userOf(request.headers.cookie),
})

export const app = express()
app.all('/api/chat', chat)
