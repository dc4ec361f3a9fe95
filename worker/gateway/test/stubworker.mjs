// Runs a Worker of a test in workerd, with the platform settings of wrangler.toml.
import { build } from 'esbuild'
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from 'miniflare'

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
      compatibilityDate: '2026-11-17',
      compatibilityFlags: ['no_nodejs_compat', 'no_nodejs_compat_v2'],
      modules: true,
      script: outputFiles[0].text,
    }),
  )
}
