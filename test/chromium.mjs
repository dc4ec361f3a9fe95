// The browser of the tests: Chromium without a window takes a third less of the processor.
import { existsSync } from 'node:fs'

const PLACES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** The path of the browser: that of the variable CHROMIUM, or an installed one. */
export const chromiumPath = process.env.CHROMIUM || PLACES.find((path) => existsSync(path)) || PLACES[0]
