// Runs a Worker of a test in workerd, with the platform settings of wrangler.toml.
import { build } from 'esbuild'
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from 'miniflare'
import { compatibilityDate, compatibilityFlags } from '../compatibility.mjs'

/** Starts a Worker from the text of its main module, whose imports are relative to this folder. */
export async function stubWorker(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'js' },
    bundle: true,
    write: false,
    format: 'esm',
  })
  return new Miniflare(
    convertV4MiniflareOptions({
      log: new Log(LogLevel.NONE),
      cf: false,
      compatibilityDate,
      compatibilityFlags,
      modules: true,
      script: outputFiles[0].text,
    }),
  )
}
