// Written by clients/version.mjs from clients/VERSION.
export const VERSION = '0.1.0'
