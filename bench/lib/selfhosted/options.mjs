// The size of a run of `make bench-selfhosted`; see bench/selfhosted.mjs.
import { QUICK } from '../options.mjs'

export const SECONDS = Number(process.env.BENCH_SECONDS ?? (QUICK ? 1 : 5))
export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? (QUICK ? 1 : 3))
export const REQUESTS = Number(process.env.BENCH_REQUESTS ?? (QUICK ? 1_000 : 100_000))
export const WARM_SECONDS = 3
