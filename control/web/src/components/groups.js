// Groups as links and as a field.
import { get } from '../api.js'
import { ROOT, withPaths } from '../groups.js'
import { html } from '../html.js'
import { useResource } from '../resource.js'
import { to } from '../router.js'
import { SelectField } from './form.js'
import { Name } from './name.js'

/** A link to the page of a group. @param {{id: string, name?: string}} props */
export function GroupLink({ id, name }) {
  return html`<${Name} text=${name ?? id} href=${to('groups', id)} />`
}

/** All groups except the root. */
export const useGroupList = () => useResource(async (signal) => (await get('groups', { signal })).groups, [])

/** The group of a project. @param {{value: string, onValue: (id: string) => void, wrong?: string}} props  value: '' for none */
export function GroupField({ value, onValue, wrong }) {
  const { data } = useGroupList()
  const groups = withPaths(data ?? []).filter(({ id, archived }) => id === value || !archived)
  const options = [['', 'None'], ...groups.map(({ id, path }) => [id, path])]
  if (value && !groups.some(({ id }) => id === value)) options.push([value, value])
  return html`<${SelectField} label="Group" options=${options} value=${value} onValue=${onValue} wrong=${wrong}
    hint="The budgets, limits and models of the group and of the groups above it apply as well." />`
}

/** The group above a new group. @param {{value: string, onValue: (id: string) => void, wrong?: string}} props */
export function ParentField({ value, onValue, wrong }) {
  const { data } = useGroupList()
  const groups = withPaths(data ?? []).filter(({ parent, archived }) => parent === ROOT && !archived)
  const options = [[ROOT, 'The deployment'], ...groups.map(({ id, name }) => [id, name])]
  if (!options.some(([id]) => id === value)) options.push([value, value])
  return html`<${SelectField} label="In" options=${options} value=${value} onValue=${onValue} wrong=${wrong}
    hint="It cannot be changed later. A group in another group cannot have groups of its own." />`
}
