import { Page } from '../components/page.js'
import { html } from '../html.js'
import { to } from '../router.js'

/** The page for an unknown path or a deleted record. */
export function MissingPage({ what = 'Page' }) {
  return html`<${Page} title=${`${what} not found`}>
    <p>It may have been deleted, or the link is wrong.</p>
    <p><a href=${to('projects')}>View all projects</a></p>
  <//>`
}
