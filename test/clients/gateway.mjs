// The real gateway for smoke tests of clients in other languages: in workerd, or `postern serve` with
// TEST_TARGET=serve. Prints one line of JSON when it is ready, and runs until standard input ends:
//
//   url              of the gateway
//   projectId        of the project of all keys but emptyKey
//   developmentKey   served by the built-in provider
//   productionKey    served by a fake provider, which answers "count to 3" with "1 2 3"
//   emptyKey         of a project without a budget: its requests get 402
//   projectKey       of the kind `project`, with all permissions
import { once } from 'node:events'
import { runGateway } from '../sdk/gateway.mjs'

const ALL = ['models', 'usage', 'violations', 'triage', 'registry', 'registry.edit', 'compliance']

const { gateway, stop } = await runGateway()
await gateway.whileTimePasses(async () => {
  const project = await gateway.project({ cache: 'off' })
  const empty = await gateway.project({ name: 'Empty', budget: 0 })
  const ready = {
    url: gateway.url,
    projectId: project.id,
    developmentKey: await gateway.key(project, { environment: 'development' }),
    productionKey: await gateway.key(project),
    emptyKey: await gateway.key(empty),
    projectKey: await gateway.key(project, { kind: 'project', permissions: ALL }),
  }
  console.log(JSON.stringify(ready))
  await once(process.stdin.resume(), 'end')
})
await stop()
process.exit()
