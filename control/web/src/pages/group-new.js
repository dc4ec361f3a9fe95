// The form for a new group.
import { useState } from 'preact/hooks'
import { post } from '../api.js'
import { Button, ButtonLink } from '../components/button.js'
import { Form, FormError, wrongWith } from '../components/form.js'
import { ParentField } from '../components/groups.js'
import { Card, Page } from '../components/page.js'
import { ROOT } from '../groups.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction } from '../resource.js'
import { navigate, to, useQuery } from '../router.js'
import { same } from '../values.js'
import { FIELDS, fieldsOf, GroupFields, NEW_GROUP } from './group-form.js'

export function NewGroupPage() {
  const [{ parent: linked }] = useQuery(['parent'])
  const [parent, setParent] = useState(linked || ROOT)
  const [draft, setDraft] = useState(NEW_GROUP)
  const { busy, error, run } = useAction(async () => {
    const group = await post('groups', { ...withoutDefaults(draft), parent })
    notify(`Group ${group.name} created`)
    navigate(to('groups', group.id))
  })
  return html`<${Page} title="New group"><${Card}><${Form} onSubmit=${run} edited=${!same(draft, NEW_GROUP)}>
    <${GroupFields} draft=${draft} set=${(fields) => setDraft({ ...draft, ...fields })} error=${error} />
    <${ParentField} value=${parent} onValue=${setParent} wrong=${wrongWith(error, 'parent')} />
    <${FormError} error=${error} shown=${[...FIELDS, 'parent']} />
    <div class="buttons">
      <${Button} look="primary" type="submit" changes busy=${busy}>Create group<//>
      <${ButtonLink} href=${linked ? to('groups', linked) : to('groups')}>Cancel<//>
    </div>
  <//><//><//>`
}

/** The fields that the user filled in. */
function withoutDefaults(draft) {
  const fields = fieldsOf(draft)
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !same(draft[name], NEW_GROUP[name])))
}
