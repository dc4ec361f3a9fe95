// The minimal Workers to which the gateway is compared.
import { join } from 'node:path'
import { BENCH } from './process.mjs'
import { configure, disk, external, modules, worker } from './workerd.mjs'

const folder = join(BENCH, 'workers')

/**
 * sample is a cached response from the gateway: its body, and its headers except those specific to one request.
 * cacheURL is the data center's cache of "proxy-cache".
 */
export function baselines(upstreamURL, sample, cacheURL) {
  const storage = disk('baseline-objects')
  const texts = { UPSTREAM: `${upstreamURL}/v1/chat/completions`, UPSTREAM_KEY: 'sk-bench' }
  const objects = {
    texts,
    bindings: [{ name: 'ROW', durableObjectNamespace: { className: 'Row' } }],
    classes: ['Row'],
    disk: storage.name,
  }
  const answer = { texts: { HEADERS: JSON.stringify(sample.headers), ANSWER: sample.body } }
  const services = [
    storage,
    external('colo', cacheURL),
    worker('proxy', modules(folder, 'proxy.js'), { texts }),
    worker('proxy-cache', modules(folder, 'proxy-cache.js', 'proxy.js'), { texts, colo: 'colo' }),
    worker('proxy-objects', modules(folder, 'proxy-objects.js', 'proxy.js', 'row.js'), objects),
    worker('constant', modules(folder, 'constant.js', 'row.js'), objects),
    worker('answer', modules(folder, 'answer.js'), answer),
  ]
  return configure('baselines', services, ['proxy', 'proxy-cache', 'proxy-objects', 'constant', 'answer'])
}
