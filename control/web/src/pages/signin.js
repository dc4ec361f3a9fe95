// The sign-in by the deployment's token.
import { useEffect, useRef, useState } from 'preact/hooks'
import { post } from '../api.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { TextField } from '../components/form.js'
import { Mark, ThemeSwitch } from '../components/shell.js'
import { adviceOn, ErrorFacts } from '../components/states.js'
import { html } from '../html.js'
import { useAction } from '../resource.js'

export function SignInPage({ onSignedIn }) {
  useEffect(() => {
    document.title = 'Sign in · Postern'
  }, [])
  return html`<main class="alone" id="main">
    <div class="signin card">
      <p class="brand"><${Mark} /> Postern</p>
      <h1>Sign in</h1>
      <${SignInForm} onSignedIn=${onSignedIn} />
    </div>
    <${ThemeSwitch} />
  </main>`
}

/** The sign-in over a page whose session has ended, so that what was typed there is still there afterwards. */
export function SignInDialog({ onSignedIn, onLeave }) {
  return html`<${Dialog} title="Sign in again" kept onClose=${() => {}}>
    <p>Your session has ended. What you typed is kept until you leave.</p>
    <${SignInForm} onSignedIn=${onSignedIn} />
    <div class="buttons"><${Button} onClick=${onLeave}>Leave<//></div>
  <//>`
}

function SignInForm({ onSignedIn }) {
  const [token, setToken] = useState('')
  const form = useRef(null)
  const { busy, error, run } = useAction(async () =>
    onSignedIn(await post('session', { token: token.trim() }, { anonymous: true })),
  )
  useEffect(() => form.current.querySelector('input').focus(), [error])
  const submit = (event) => {
    event.preventDefault()
    if (!busy && token.trim() !== '') void run()
  }
  return html`<form onSubmit=${submit} ref=${form}>
    <${TextField} label="Token" type="password" name="token" autocomplete="current-password" required value=${token}
      onValue=${setToken}
      hint="On your own machine “make dev” prints it. A deployment has it as POSTERN_ADMIN_TOKEN, and as POSTERN_VIEWER_TOKEN to look only." />
    <${Problem} error=${error} />
    <${Button} look="primary wide" type="submit" busy=${busy} disabled=${token.trim() === ''}>Sign in<//>
  </form>`
}

function Problem({ error }) {
  if (!error) return null
  if (error.code === 'wrong_token')
    return html`<p class="form-error" role="alert">Wrong token: it is neither the owner’s nor the viewer’s. Check it and try again.</p>`
  if (error.status === 429)
    return html`<p class="form-error" role="alert">Wrong token, and too many wrong ones came from your address. The right one is taken at any time.</p>`
  return html`<div class="form-error" role="alert"><p>${error.message}. ${adviceOn(error)}</p><${ErrorFacts} error=${error} /></div>`
}
