// One group, or the deployment: its spend, contents, usage and settings.
import { useState } from 'preact/hooks'
import { get, path, remove } from '../api.js'
import { ArchiveCard } from '../components/archive.js'
import { Button, ButtonLink } from '../components/button.js'
import { Confirm } from '../components/dialog.js'
import { GroupLink } from '../components/groups.js'
import { Id } from '../components/ids.js'
import { Card, Page } from '../components/page.js'
import { RecordForm } from '../components/record-form.js'
import { Failure, Loaded, Refresh, shownElsewhere, Time } from '../components/states.js'
import { Facts } from '../components/table.js'
import { count, plural } from '../format.js'
import { contentsOf, ROOT, treeOf } from '../groups.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useBoth, useResource } from '../resource.js'
import { navigate, to } from '../router.js'
import { zoned } from '../zone.js'
import { AlertsCard } from './alerts.js'
import { CreditsCard } from './credits.js'
import { draftOf, FIELDS, fieldsOf, GroupFields } from './group-form.js'
import { Spend } from './group-spend.js'
import { GroupTree, useAllNodes } from './group-tree.js'
import { GroupUsage } from './group-usage.js'

const FORM = { draftOf, fieldsOf }

export function GroupPage({ id }) {
  const group = useResource((signal) => get(path`groups/${id}`, { signal }), [id])
  const nodes = useAllNodes()
  const { data, error } = group
  if (error && data === undefined && !shownElsewhere(error)) {
    return html`<${Page} title="Group"><${Failure} error=${error} retry=${group.reload} what="the group" />
      <p><a href=${to('groups')}>View all groups</a></p><//>`
  }
  const above = nodeOf(data?.parent, nodes.groups.data)
  return html`<${Page} title=${data?.name ?? 'Group'} of=${id === ROOT ? 'Groups' : (above?.name ?? '')} actions=${html`<${Refresh} of=${useBoth(group, nodes.refresh)} />`}>
    <${Loaded} of=${group} what="the group" rows=${8}>${(found) => html`
      ${found.archived && html`<p class="banner">${ARCHIVED}</p>`}
      ${found.delivery === 'pending' && html`<p class="warning" role="status">${PENDING}</p>`}
      <${Spend} of=${found} at=${group.at} />
      <${Contents} of=${found} nodes=${nodes} />
      <${GroupUsage} of=${found} />
      <${Settings} of=${found} resource=${group} nodes=${nodes} />
      <${Card} title="About"><${Facts} rows=${factsOf(found, above)} /><//>`}<//>
  <//>`
}

const ARCHIVED = 'This group is archived: requests of the projects in it and in its groups are rejected with 401.'
const PENDING = 'The last change has not reached all keys yet. It will within minutes.'

/** A group among all groups. Undefined until they have loaded. */
const nodeOf = (id, all) => (id === ROOT ? all?.root : all?.groups.find((group) => group.id === id))

function factsOf({ id, parent, createdAt, version }, above) {
  const rows = [
    ['In', parent && html`<${GroupLink} id=${parent} name=${above?.name} />`],
    ['ID', html`<${Id} id=${id} />`],
    [zoned('Created'), createdAt && html`<${Time} at=${createdAt} />`],
    ['Settings version', count(version)],
  ]
  return rows.filter(([, value]) => value)
}

/** The groups and projects below the group. */
function Contents({ of: { id, parent, archived }, nodes }) {
  const query = id === ROOT ? '' : `?${new URLSearchParams({ parent: id })}`
  const projectQuery = id === ROOT ? '' : `?${new URLSearchParams({ group: id })}`
  const actions = html`<div class="row-actions">
    ${(parent === ROOT || id === ROOT) && html`<${ButtonLink} href=${to('groups', 'new') + query} look="small" changes>New group<//>`}
    <${ButtonLink} href=${to('projects', 'new') + projectQuery} look="small" changes>New project<//></div>`
  return html`<${Card} title="Contents" actions=${!archived && actions}>
    <${GroupTree} nodes=${nodes} top=${id} caption="Contents of the group" none=${html`<p class="muted">No groups and no projects.</p>`} />
  <//>`
}

function Settings({ of: group, resource, nodes }) {
  const at = path`groups/${group.id}`
  const save = (saved) => {
    resource.set(saved)
    resource.reload() // the response to a change does not have the spend
    nodes.groups.reload()
  }
  return html`
    <${Card} title="Settings"><${RecordForm} at=${at} record=${group} set=${save} form=${FORM} shown=${FIELDS} action="Save settings" saved=${() => 'Group saved'}>${GroupFields}<//><//>
    <${CreditsCard} at=${at} of=${group} set=${save} />
    <${AlertsCard} at=${at} record=${group} set=${save} />
    ${
      group.id !== ROOT &&
      html`<${ArchiveCard} at=${at} noun="Group" archived=${group.archived} set=${save} words=${archiveWords(group)} />
        <${DeleteCard} group=${group} nodes=${nodes} />`
    }`
}

const archiveWords = ({ name }) => ({
  before:
    'Requests of the projects in an archived group and in its groups are rejected with 401. Its usage is kept, and you can restore it later.',
  after: `${ARCHIVED} Restore it to accept them again.`,
  archives: html`Requests of all projects in <strong>${name}</strong> and in its groups are rejected with 401.`,
  restores: html`Requests of all projects in <strong>${name}</strong> and in its groups are accepted again.`,
})

/** Deletes an empty group. Otherwise, states its contents. */
function DeleteCard({ group, nodes: { groups, projects } }) {
  const [asking, setAsking] = useState(false)
  const tree = groups.data && projects.data && treeOf({ ...groups.data, projects: projects.data.items }, group.id)
  const holds = tree ? contentsOf(tree) : { groups: 0, projects: 0 }
  const full = holds.groups + holds.projects > 0
  const done = () => {
    notify(`Group ${group.name} deleted`)
    navigate(to('groups'))
  }
  return html`<${Card} title="Delete">
    <p>${
      full
        ? `Only an empty group can be deleted. This one has ${plural(holds.groups, 'group')} and ${plural(holds.projects, 'project')}: move the projects and delete the groups first.`
        : 'The group is empty and can be deleted. What it spent stays in the reports for 400 days.'
    }</p>
    <${Button} look="danger" changes idle=${full || !tree} onClick=${() => setAsking(true)}>Delete group<//>
    ${
      asking &&
      html`<${Confirm} title="Delete this group?" action="Delete group" danger act=${() => remove(path`groups/${group.id}`)} onDone=${done}
        onClose=${() => setAsking(false)}><p>This permanently deletes <strong>${group.name}</strong> with its settings.</p><//>`
    }
  <//>`
}
