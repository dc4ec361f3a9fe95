// The tree of all groups and projects.
import { ButtonLink } from '../components/button.js'
import { TextField } from '../components/form.js'
import { Page } from '../components/page.js'
import { Empty, Refresh } from '../components/states.js'
import { html } from '../html.js'
import { useDebounced } from '../resource.js'
import { to, useQuery } from '../router.js'
import { GroupTree, useAllNodes } from './group-tree.js'

const LEAD =
  'A request is served only if its key, its project and all groups above have enough budget left. Projects and groups without a group are directly in the deployment.'

export function GroupsPage() {
  const nodes = useAllNodes()
  const [{ q, archived }, setQuery] = useQuery(['q', 'archived'])
  const text = useDebounced(q)
  const create = html`<${ButtonLink} href=${to('groups', 'new')} look="primary" changes>New group<//>`
  return html`<${Page} title="Groups" lead=${LEAD} actions=${html`<${Refresh} of=${nodes.refresh} />${create}`}>
    <form class="filters" role="search" aria-label="Groups" onSubmit=${(event) => event.preventDefault()}>
      <${TextField} label="Filter by name" type="search" value=${q} onValue=${(value) => setQuery({ q: value })} />
      <label class="live"><input type="checkbox" checked=${archived === 'true'}
        onChange=${(event) => setQuery({ archived: event.target.checked ? 'true' : '' })} />Show archived</label>
    </form>
    <${GroupTree} nodes=${nodes} text=${text} archived=${archived === 'true'} caption="Groups and projects" none=${html`<${Nothing} filtered=${text} />`} />
  <//>`
}

function Nothing({ filtered }) {
  if (filtered) return html`<${Empty} title="No groups or projects match"><p>Change the filter.</p><//>`
  return html`<${Empty} title="No groups yet">
    <p>A group has a budget that its projects share. Create a group, then set it in the settings of its projects.
      To limit everything, set a budget for <a href=${to('groups', 'root')}>the deployment</a>.</p>
  <//>`
}
