// The card that archives a project or a group, or restores it.
import { useState } from 'preact/hooks'
import { post } from '../api.js'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { Button } from './button.js'
import { Confirm } from './dialog.js'
import { Card } from './page.js'

/**
 * @param {{at: string, noun: string, archived: boolean, set: (record: any) => void, words: {before: string, after: string,
 *   archives: any, restores: any}}} props
 *   at: the record's path below /api/admin/; set: takes the saved record; words: what archiving does, what it did, and
 *   what each action will do
 */
export function ArchiveCard({ at, noun, archived, set, words }) {
  const [asking, setAsking] = useState(false)
  const done = (saved) => {
    set(saved)
    notify(`${noun} ${archived ? 'restored' : 'archived'}`)
  }
  const action = `${archived ? 'Restore' : 'Archive'} ${noun.toLowerCase()}`
  return html`<${Card} title=${archived ? 'Restore' : 'Archive'}>
    <p>${archived ? words.after : words.before}</p>
    <${Button} look=${archived ? 'primary' : 'danger'} changes onClick=${() => setAsking(true)}>${action}<//>
    ${
      asking &&
      html`<${Confirm} title=${`${action}?`} action=${action} danger=${!archived} act=${() => post(`${at}/${archived ? 'restore' : 'archive'}`)}
        onDone=${done} onClose=${() => setAsking(false)}><p>${archived ? words.restores : words.archives}</p><//>`
    }
  <//>`
}
