// The cursors of deep pages, which bench/growth.mjs reads before it times them.
import { admin } from './measure.mjs'

const DAY_MS = 24 * 3600_000

/** The cursor after a number of pages of a list, or the last one before its end. */
async function walk(server, path, pages) {
  let after = ''
  for (let n = 0; n < pages; n++) {
    const join = path.includes('?') ? '&' : '?'
    const { next } = JSON.parse(await admin(server, after ? `${path}${join}after=${encodeURIComponent(after)}` : path))
    if (!next) break
    after = next
  }
  return after
}

/** Cursors of a page in the middle and of one near the end. */
async function deep(server, path, pages) {
  const middle = await walk(server, path, Math.ceil(pages / 2))
  return [
    ['a middle page', middle],
    ['a late page', await walk(server, path, pages)],
  ].filter(([, after]) => after !== '')
}

/** The cursors by list. The audit log's are those of times: walking there would take 10,000 pages. */
export async function cursors(server, { large, projects, keys }) {
  const ago = (days) => Date.now() - days * DAY_MS
  const audit = (days) => `aud_${(2 ** 48 - 1 - ago(days)).toString(16).padStart(12, '0')}0000000000000000`
  return {
    projects: await deep(server, 'projects?limit=100', projects / 100),
    keys: await deep(server, `projects/${large}/keys?limit=100`, keys / 1000),
    requests: await deep(server, `projects/${large}/requests?limit=100`, 40),
    violations: await deep(server, 'violations?limit=10', 8),
    audit: [
      ['a middle page', audit(200)],
      ['a late page', audit(380)],
    ],
    longAgo: new Date(ago(90)).toISOString(),
  }
}
