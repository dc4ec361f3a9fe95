// The requests of the admin API that bench/growth.mjs times: every list, its deep pages and filters, the overview, and the
// pages of the dashboard that read the most.

const ROLLING = ['2h', '24h', '7d', '30d', '90d', 'month']

/** A list with its first page, its page in the middle, and its last one. */
const pages = (name, path, deep) => [
  [`${name}, first page`, path],
  ...deep.map(([which, after]) => [`${name}, ${which}`, `${path}${path.includes('?') ? '&' : '?'}after=${after}`]),
]

const project = (id, path = '') => `projects/${id}${path}`

/**
 * The requests as pairs of a name and a path below /api/admin.
 * @param {object} d what bench/growth printed about the deployment
 * @param {object} at the cursors of deep pages
 */
export function requests(d, at) {
  return [
    ...ROLLING.map((range) => [`overview, ${range}`, `overview?range=${range}`]),
    ['overview, 30d as CSV', 'overview?range=30d&format=csv'],
    ...pages('projects', 'projects?limit=100', at.projects),
    ['projects, by name', 'projects?limit=100&q=project%200042'],
    ['projects, archived', 'projects?limit=100&status=archived'],
    ['one project', project(d.large)],
    ...keyLists(d, at),
    ['groups', 'groups'],
    ['one group', `groups/${d.group}`],
    ["a group's usage", `groups/${d.group}/usage`],
    ["the root's usage", 'groups/root/usage'],
    ...requestLists(d, at),
    ...usageOf(d),
    ['violations of a project', project(d.large, '/violations?limit=100')],
    ['violations of a project, closed', project(d.large, '/violations?limit=100&state=resolved')],
    ...pages('violations of all projects', `violations?limit=10`, at.violations),
    ['violations of all projects, 90 days', `violations?limit=10&from=${at.longAgo}`],
    ...audits(d, at),
    ...others(d),
  ]
}

const keyLists = (d, at) => [
  ...pages('keys of a project', project(d.large, '/keys?limit=100'), at.keys),
  ['keys of a project, by name', project(d.large, '/keys?limit=100&q=00077')],
  ['keys of a project, inactive', project(d.large, '/keys?limit=100&status=inactive')],
  ['one key', project(d.large, `/keys/${d.largeKey}`)],
  ['keys of all projects, by name', 'keys?limit=100&q=service%2000011'],
  ['keys of all projects, no match', 'keys?limit=100&q=nowhere'],
  ['a key by its hash', `keys/${d.largeHash}`],
]

const requestLists = (d, at) => [
  ...pages('requests', project(d.large, '/requests?limit=100'), at.requests),
  ['requests, failed', project(d.large, '/requests?limit=100&outcome=failed')],
  ['requests, of a key', project(d.large, `/requests?limit=100&key=${d.largeKey}`)],
  ['requests, refused', project(d.large, '/requests?limit=100&outcome=refused')],
  ['a request of any project, one page', `requests/${d.request}`],
]

const usageOf = ({ large, small }) => [
  ...['1h', '24h', '7d', '30d', 'month'].map((range) => [`usage, ${range}`, project(large, `/usage?range=${range}`)]),
  ...['day', 'key', 'model', 'all'].map((by) => [`usage, 30d by ${by}`, project(large, `/usage?range=30d&by=${by}`)]),
  ['usage, 30d by all as CSV', project(large, '/usage?range=30d&by=all&format=csv')],
  ['usage of a small project, 30d', project(small, '/usage?range=30d')],
  ['costs', project(large, '/costs')],
  ['costs, compared', project(large, '/costs/compare')],
]

const audits = (d, at) => [
  ...pages('audit', 'audit?limit=100', at.audit),
  ['audit, of a project', `audit?limit=100&project=${d.large}`],
  ['audit, of a small project', `audit?limit=100&project=${d.small}`],
  ['audit, by action', 'audit?limit=100&action=session'],
]

const others = (d) => [
  ['registry', project(d.large, '/models-registry?limit=100')],
  ['provider keys', project(d.large, '/provider-keys')],
  ['routes', project(d.large, '/routes')],
  ['governor', project(d.large, '/governor')],
  ['compliance summary', project(d.large, '/compliance/summary')],
  ['compliance checkpoints', project(d.large, '/compliance/checkpoints')],
  ['compliance export, one page', project(d.large, '/compliance/export')],
  ['providers', 'providers'],
  ['catalog', 'catalog'],
]
