// Import this module before all others. It installs the agents. Then it reruns the test file in a network of its own,
// which has only the loopback interface. If the system does not permit such a network (macOS, some containers), the
// agents' proxy variables name a port where nothing listens, so a request to another host fails.
import { spawnSync } from 'node:child_process'
import { install } from './install.mjs'

/** The agents under test: Codex and Claude Code, or the value of AGENTS. */
export const names = (process.env.AGENTS ?? 'codex,claude').split(',')

/** Whether all cases run, as in `make test-agents`. */
export const long = process.env.AGENTS !== undefined

const INSIDE = 'POSTERN_TEST_NETWORK'
const enter = ['unshare', ['-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']]

/** Whether no other host can be reached. */
export const alone = process.env[INSIDE] === 'alone'

if (process.env[INSIDE] === undefined) {
  for (const name of names) install(name)
  const [command, args] = enter
  const permitted = spawnSync(command, [...args, 'true']).status === 0
  const again = [process.execPath, ...process.execArgv, process.argv[1]]
  const [file, ...rest] = permitted ? [command, ...args, ...again] : again
  const env = { ...process.env, [INSIDE]: permitted ? 'alone' : 'shared' }
  const { status } = spawnSync(file, rest, { env, stdio: 'inherit' })
  process.exit(status ?? 1)
}
