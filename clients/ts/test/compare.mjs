// The comparison of expected and actual values, as testdata/clients/README.md describes it.

/** The differences between an actual value and the expected one, as strings. */
export function differences(expected, actual, path = 'value') {
  if (expected === null) return actual === null || actual === undefined ? [] : [unequal(path, expected, actual)]
  if (typeof expected !== 'object') return Object.is(expected, actual) ? [] : [unequal(path, expected, actual)]
  if (Array.isArray(expected)) return inArray(expected, actual, path)
  if (Object.keys(expected).length === 1 && typeof expected.match === 'string') {
    const matches = typeof actual === 'string' && new RegExp(expected.match).test(actual)
    return matches ? [] : [unequal(path, expected, actual)]
  }
  if (typeof actual !== 'object' || actual === null) return [unequal(path, expected, actual)]
  return Object.entries(expected).flatMap(([name, member]) => differences(member, actual[name], `${path}.${name}`))
}

function inArray(expected, actual, path) {
  if (!Array.isArray(actual) || actual.length !== expected.length) return [unequal(path, expected, actual)]
  return expected.flatMap((item, i) => differences(item, actual[i], `${path}[${i}]`))
}

function unequal(path, expected, actual) {
  return `${path}: want ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`
}
