// A reporter for `node --test`. It writes a line of JSON for each failed top-level test, {file, name}, or for each
// failed file, {file}. After that, it writes the counts of the run.
import { relative } from 'node:path'

export default async function* report(events) {
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.nesting === 0) yield line(failure(data))
    if (type === 'test:summary' && data.file === undefined) yield line({ counts: data.counts })
  }
}

/** Node reports a file that fails as a whole, such as one that cannot be imported, as a test with the file's name. */
function failure({ file, name }) {
  const path = relative(process.cwd(), file ?? name)
  return file === undefined || name === file || name === path ? { file: path } : { file: path, name }
}

function line(event) {
  return `${JSON.stringify(event)}\n`
}
