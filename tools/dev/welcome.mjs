// What `make dev` says when it is ready.
import { BASE_URL } from './files.mjs'

/** Where everything is, with lines that work when pasted. */
export function welcome({ projectId, gatewayKey, projectKey, adminToken }) {
  const json = `-H 'Content-Type: application/json'`
  return `
Postern is ready on ${BASE_URL}  (Ctrl-C stops it)

The dashboard is ${BASE_URL}/dashboard and the token to sign in with

  ${adminToken}

Ask something. This key is of the development environment: the built-in mock answers, at no cost.

  curl ${BASE_URL}/api/ai/complete -H 'X-API-Key: ${gatewayKey}' ${json} -d '{"messages":[{"role":"user","content":"Hello!"}]}'

See what it used:

  curl '${BASE_URL}/api/usage?projectId=${projectId}' -H 'X-API-Key: ${projectKey}'

To reach a real provider, start with its variables set, such as OPENAI_API_KEY, and make a production key:

  curl ${BASE_URL}/api/admin/projects/${projectId}/keys -H 'Authorization: Bearer ${adminToken}' ${json} -d '{"name":"Backend"}'

All of this is in .dev/keys.json for as long as Postern runs, and the same at the next start. Projects, keys and figures stay
in .wrangler/state until you delete it; another port is POSTERN_PORT.

`
}
