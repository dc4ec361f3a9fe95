/** Returns Unix time in milliseconds. All code gets the time from here, so that tests can control it. */
export const clock = { now: (): number => Date.now() }
