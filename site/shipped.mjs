/** Packages of which the built pages have programs and styles, with the files of their licenses. */
export const SHIPPED = {
  '@astrojs/starlight': 'LICENSE',
  astro: 'LICENSE',
  'astro-expressive-code': 'LICENSE',
  pagefind: 'LICENSE/LICENSE',
}
