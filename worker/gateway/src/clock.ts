/** Unix time in milliseconds. Everything takes the time from here, so that a test can own it. */
export const clock = { now: (): number => Date.now() }
