// The message about a version conflict: someone else has saved the record of this form.
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../html.js'
import { useAction } from '../resource.js'
import { Button } from './button.js'
import { FormError } from './form.js'

/** @param {{load: () => Promise<any>, onLoaded: (theirs: any) => void}} props  load: loads the saved record */
export function Conflict({ load, onLoaded }) {
  const frame = useRef(null)
  const { busy, error, run } = useAction(async () => onLoaded(await load()))
  useEffect(() => frame.current.scrollIntoView({ block: 'nearest' }), [])
  return html`<div class="form-error" role="alert" ref=${frame}>
    <p class="state-title">Someone else saved changes while you were editing</p>
    <p>Your changes are not saved yet. Reload to get the latest version; the fields you edited keep your values. Then save again.</p>
    <${FormError} error=${error} />
    <${Button} busy=${busy} onClick=${() => run()}>Reload and keep my edits<//>
  </div>`
}
