/** Returns Unix time in milliseconds. All code reads the time here, so that tests can control it. */
export const clock = { now: (): number => Date.now() }
