// The message of `make dev` when the gateway is ready.
import { BASE_URL } from './files.mjs'

/** Lists addresses, tokens, and commands that work when pasted. */
export function welcome({ projectId, gatewayKey, projectKey, adminToken }) {
  const json = `-H 'Content-Type: application/json'`
  const body = `{"model":"gpt-4.1-mini","messages":[{"role":"user","content":"Hello!"}]}`
  return `
Postern is ready on ${BASE_URL}  (press Ctrl-C to stop)

Dashboard:    ${BASE_URL}/dashboard
Admin token:  ${adminToken}

Send a request. This is a development key, so the built-in mock provider responds, free of charge:

  curl ${BASE_URL}/v1/chat/completions -H 'Authorization: Bearer ${gatewayKey}' ${json} -d '${body}'

Read the project's usage:

  curl '${BASE_URL}/api/usage?projectId=${projectId}' -H 'X-API-Key: ${projectKey}'

To call a real provider, stop Postern and start it with the provider's API key, for example OPENAI_API_KEY=sk-… make dev.
Then create a production key:

  make key

While Postern runs, .dev/keys.json has these values, and .dev/gateway-key has the development key alone. The next start
reuses them. Data is stored in .wrangler/state. To use another port, set POSTERN_PORT.

`
}
