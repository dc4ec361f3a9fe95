// Astro's configuration for the site. build.mjs runs Astro after it has written the pages.
import starlight from '@astrojs/starlight'
import { defineConfig, passthroughImageService } from 'astro/config'
import starlightLinksValidator from 'starlight-links-validator'
import { BASE } from './markdown.mjs'
import { sidebar } from './sidebar.mjs'

export default defineConfig({
  base: BASE,
  trailingSlash: 'always',
  prefetch: false, // the policy allows a page to load only what it shows
  // Scripts and styles are separate files, so the policy of the pages needs only a few hashes.
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
      // Documents contain addresses of gateways on the reader's machine.
      plugins: [starlightLinksValidator({ errorOnLocalLinks: false, reporters: { githubActions: false } })],
    }),
  ],
})
