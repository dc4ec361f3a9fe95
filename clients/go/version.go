package postern

// version is the version of this module, as in clients/VERSION. `make generate` writes it.
const version = "0.1.0"
