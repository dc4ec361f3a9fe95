/** The packages whose scripts and styles are in the built pages, with their license files. */
export const SHIPPED = {
  '@astrojs/starlight': 'LICENSE',
  astro: 'LICENSE',
  'astro-expressive-code': 'LICENSE',
  pagefind: 'LICENSE/LICENSE',
}
