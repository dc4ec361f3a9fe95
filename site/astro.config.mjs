// Astro's configuration of the site. build.mjs runs it, after it has written the pages.
import starlight from '@astrojs/starlight'
import { defineConfig, passthroughImageService } from 'astro/config'
import starlightLinksValidator from 'starlight-links-validator'
import { BASE } from './markdown.mjs'
import { sidebar } from './sidebar.mjs'

export default defineConfig({
  base: BASE,
  trailingSlash: 'always',
  prefetch: false, // the policy permits a page to load only what it shows
  // Scripts and styles are files, so that the policy of the pages needs few hashes.
  build: { inlineStylesheets: 'never' },
  vite: { build: { assetsInlineLimit: 0 } },
  image: { service: passthroughImageService() },
  integrations: [
    starlight({
      title: 'Postern',
      favicon: '/favicon.svg',
      credits: false,
      customCss: ['./src/styles/site.css'],
      components: { Head: './src/components/Head.astro' },
      sidebar: sidebar(),
      expressiveCode: { shiki: { langAlias: { promql: 'txt' } } },
      // Documents show addresses of gateways on the reader's machine.
      plugins: [starlightLinksValidator({ errorOnLocalLinks: false, reporters: { githubActions: false } })],
    }),
  ],
})
