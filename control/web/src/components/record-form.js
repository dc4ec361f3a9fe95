// A form that edits a record with a version, which others may change at the same time.
import { get, patch } from '../api.js'
import { useDraft } from '../draft.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction } from '../resource.js'
import { Button } from './button.js'
import { Conflict } from './conflict.js'
import { Form, FormError } from './form.js'
import { isOutdated } from './states.js'

/**
 * @param {{at: string, record: {version: number}, set: (record: any) => void, form: {draftOf: Function, fieldsOf: Function},
 *   shown: string[], action?: string, saved: (record: any) => string, children: Function}} props
 *   at: the record's path below /api/admin/; set: takes the saved record; form: see draft.js; shown: the fields that
 *   show their own errors; saved: the notice; children: a function of {draft, set, error} that renders the fields
 */
export function RecordForm({ at, record, set, form: shape, shown, action = 'Save', saved, children }) {
  const form = useDraft(record, shape)
  const { busy, error, run, clear } = useAction(async () => {
    const after = await patch(at, { ...form.changes(), version: form.base.version })
    form.restart(after)
    set(after)
    notify(saved(after))
  })
  const takeTheirs = (theirs) => {
    form.follow(theirs)
    set(theirs)
    clear()
  }
  return html`<${Form} onSubmit=${run} edited=${!form.clean}>
    ${children({ draft: form.draft, set: form.change, error })}
    ${
      isOutdated(error)
        ? html`<${Conflict} load=${() => get(at)} onLoaded=${takeTheirs} />`
        : html`<${FormError} error=${error} shown=${shown} />`
    }
    <div class="buttons"><${Button} look="primary" type="submit" changes busy=${busy} idle=${form.clean}>${action}<//></div>
  <//>`
}
