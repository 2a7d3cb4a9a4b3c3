/**
 * Returns the path, query and fragment of a page of this origin that `given` names; `/` for all else. Whatever comes from an address, from
 * what the browser keeps, from a server or from a message is to pass here where it is gone to: it may be of any type, name another
 * origin in a way that only browsers see, or lead back to the sign-in for ever. At most 2,048 characters.
 */
export function ownPath(given: unknown): string {
  if (typeof given !== 'string' || given.length > PATH_MAX || !PLAIN.test(given) || !URL.canParse(given, HERE))
    return '/'
  const { origin, pathname, search, hash } = new URL(given, HERE)
  // As the browser reads the path, then as what decodes it does, and so on: `/.//x`, `/%2f/x` and `/%5cx` are no paths of ours.
  const readings = readingsOf(pathname)
  return origin === HERE && readings.every(isOwn) && search.length + hash.length <= PATH_MAX
    ? `${pathname}${search}${hash}`
    : '/'
}

/** Returns an address of HTTP or HTTPS, such as the URL of a box, as it is; null for all else, as `javascript:` is. */
export function webAddress(given: unknown): string | null {
  if (typeof given !== 'string' || CONTROLS.test(given) || !URL.canParse(given)) return null
  const { protocol, username, password } = new URL(given)
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '' ? given : null
}

/** Returns a path and what it is decoded to, once, twice and so on; with an empty one where there is no end to that. */
function readingsOf(pathname: string): string[] {
  const readings = [pathname]
  for (let round = 0; round < DECODINGS_MAX; round++) {
    const last = readings.at(-1) ?? ''
    const decoded = decodeOnce(last)
    if (decoded === last) return readings
    readings.push(decoded)
  }
  return [...readings, '']
}

function decodeOnce(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}

function isOwn(path: string): boolean {
  return path.startsWith('/') && !STRANGE.test(path) && !CONTROLS.test(path) && !SIGN_IN.test(path)
}

/** Stands for this origin, so that no setting of the page is needed: an address that names it is none of ours either. */
const HERE = 'http://this.invalid'
const PATH_MAX = 2_048
const DECODINGS_MAX = 4
// biome-ignore lint/suspicious/noControlCharactersInRegex: browsers leave some of them out, so that the rest reads as something else
const CONTROLS = /[\u0000-\u0020\u007f-\u009f\u2028\u2029\ufeff]/
/** One slash, then no other, nor what browsers read as one; nothing that they leave out. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const PLAIN = /^\/(?![/\\])[^\\\u0000-\u0020\u007f-\u009f\u2028\u2029\ufeff]*$/
/** Two slashes, a backslash, or a segment of dots: none of our paths has them, and each may be resolved to another. */
const STRANGE = /\/\/|\\|\/\.{1,2}(\/|$)/
const SIGN_IN = /^\/sign-in\/*$/i
