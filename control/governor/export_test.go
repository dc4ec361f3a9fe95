package governor

// MaxTryBody is the maximum size of a body that tries the Governor.
const MaxTryBody = maxTryBody
