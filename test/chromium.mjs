// The browser for the tests. Chromium without a window needs a third less CPU time.
import { existsSync } from 'node:fs'

const PLACES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** The path of the browser: from the variable CHROMIUM, or an installed one. */
export const chromiumPath = process.env.CHROMIUM || PLACES.find((path) => existsSync(path)) || PLACES[0]
