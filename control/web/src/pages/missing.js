import { Page } from '../components/page.js'
import { html } from '../html.js'
import { to } from '../router.js'

export function MissingPage({ what = 'page' }) {
  return html`<${Page} title=${`No such ${what}`}>
    <p>The address names a ${what} that is not there. It may have been deleted, or the link is mistyped.</p>
    <p><a href=${to('projects')}>Go to the projects</a></p>
  <//>`
}
