// Makes the tests load their packages from the folder INSTALLED instead of the checkout. Used with node --import.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const tests = pathToFileURL(import.meta.dirname).href
const parentURL = pathToFileURL(join(process.env.INSTALLED, 'program.mjs')).href

registerHooks({
  resolve(specifier, context, next) {
    const isPackage = /^(@[\w-]+\/)?[\w-]/.test(specifier) && !specifier.startsWith('node:')
    return next(specifier, isPackage && context.parentURL?.startsWith(tests) ? { ...context, parentURL } : context)
  },
})
