package postern

// version is the version of this module, as in clients/VERSION. `node clients/version.mjs` writes it.
const version = "0.1.0"
