// Runs before the first paint, so the page does not flash in the system's theme.
import { showTheme, theme } from './theme.js'

showTheme(theme())
