// Prepaid credit: a budget for no period, to which numbered top-ups add.
import { useRef, useState } from 'preact/hooks'
import { get, post } from '../api.js'
import { Button } from '../components/button.js'
import { Form, FormError, TextField, wrongWith } from '../components/form.js'
import { Money } from '../components/money.js'
import { Card } from '../components/page.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { useAction } from '../resource.js'
import { numberOf } from '../values.js'

const NOTHING = { amount: '', note: '' }
const ID_BYTES = 16

/** A random text that identifies a top-up, so that a repeated request counts once. */
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * The form that adds credit. It is shown only for a record whose saved budget period is "total".
 * @param {{at: string, of: object, set: (record: any) => void}} props
 *   at: the path below /api/admin/ of the project, group or key; set: takes the record with the new budget
 */
export function CreditsCard({ at, of, set }) {
  if (of.budgetPeriod !== 'total') return null
  return html`<${Card} title="Credit"><${Credits} at=${at} of=${of} set=${set} /><//>`
}

function Credits({ at, of, set }) {
  const [draft, setDraft] = useState(NOTHING)
  const [added, setAdded] = useState(null)
  const key = useRef(newKey())
  const { busy, error, run } = useAction(async () => {
    const body = { amount: numberOf(draft.amount), ...(draft.note.trim() && { note: draft.note.trim() }) }
    const credit = await post(`${at}/credits`, body, { headers: { 'Idempotency-Key': key.current } })
    key.current = newKey()
    setAdded(credit)
    setDraft(NOTHING)
    notify(`Top-up ${credit.number} added`)
    const now = await get(at).catch(() => undefined) // the new budget and version; the credit is added even if this fails
    if (now) set(now)
  })
  const change = (fields) => {
    key.current = newKey() // another top-up
    setDraft({ ...draft, ...fields })
  }
  return html`<p>The budget is prepaid credit of <strong><${Money} of=${of.budget ?? 0} /></strong>, the sum of all top-ups. It does not reset.</p>
    <${Form} onSubmit=${run} edited=${draft.amount !== '' || draft.note !== ''}>
      <div class="columns">
        <${TextField} label="Amount to add (USD)" inputmode="decimal" required value=${draft.amount} onValue=${(amount) => change({ amount })}
          wrong=${wrongWith(error, 'amount')} />
        <${TextField} label="Note" maxlength="120" value=${draft.note} onValue=${(note) => change({ note })} wrong=${wrongWith(error, 'note')}
          hint="For the audit log, for example an invoice number." />
      </div>
      <${FormError} error=${error} shown=${['amount', 'note']} />
      <div class="buttons"><${Button} look="primary" type="submit" changes busy=${busy} idle=${draft.amount.trim() === ''}>Add credit<//></div>
    <//>
    <p role="status">${added && html`Top-up ${added.number}: <${Money} of=${added.amount} /> added. The credit is now <${Money} of=${added.total} />.`}</p>`
}
