package governor

// MaxTryBody is the maximum body size of a request that tries the Governor.
const MaxTryBody = maxTryBody
