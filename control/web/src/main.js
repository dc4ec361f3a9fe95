import { render } from 'preact'
import { App } from './app.js'
import { html } from './html.js'
import { startRouter } from './router.js'
import './styles/base.css'
import './styles/layout.css'
import './styles/overview.css'
import './styles/buttons.css'
import './styles/forms.css'
import './styles/tables.css'
import './styles/states.css'
import './styles/code.css'
import './styles/dialogs.css'
import './styles/governor.css'
import './styles/palette.css'

startRouter()
render(html`<${App} />`, document.getElementById('app'))
