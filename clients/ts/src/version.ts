// Written by clients/version.mjs from clients/VERSION.
/** The package's version. */
export const VERSION = '0.1.0'
