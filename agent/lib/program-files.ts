/**
 * Returns the URL of a file of the program by its path from the root of the checkout or package, such as `agent/shim/main.ts`. It
 * holds for the bundle of a release as well, which lies as deep as this file.
 */
export function programFile(path: string): URL {
  return new URL(`../../${path}`, import.meta.url)
}
