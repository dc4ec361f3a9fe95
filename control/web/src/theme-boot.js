// Runs before the first paint, so that a chosen theme does not flash.
import { showTheme, theme } from './theme.js'

showTheme(theme())
