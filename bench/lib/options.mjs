// The size of a run. QUICK=1 tries the measurements but gives no reliable figures. PEERS=1 adds other gateways.
export const QUICK = process.env.QUICK === '1'
export const PEERS = process.env.PEERS === '1'
/** A checkout of github.com/Portkey-AI/gateway with its packages installed, to measure it on workerd. */
export const PORTKEY_SRC = process.env.PORTKEY_SRC || undefined

/** Rounds per contender, and the lengths of a round and of the warm-up round before it. */
export const ROUNDS = QUICK ? 1 : 7
export const SECONDS = QUICK ? 1 : 2
export const WARM_SECONDS = QUICK ? 1 : 2
