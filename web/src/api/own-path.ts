/**
 * Returns the path, query and fragment of a page of this origin that `given` names, or `/` for anything else. Every navigation target from
 * an address, browser storage, a server or a message must pass this check. Such a value can have any type, name another origin in a way
 * that only browsers see, or lead back to the sign-in forever. At most 2,048 characters.
 */
export function ownPath(given: unknown): string {
  if (typeof given !== 'string' || given.length > PATH_MAX || !PLAIN.test(given) || !URL.canParse(given, HERE))
    return '/'
  const { origin, pathname, search, hash } = new URL(given, HERE)
  // Checks the path as the browser reads it, then as each decoding step does. `/.//x`, `/%2f/x` and `/%5cx` are not paths of the console.
  const readings = readingsOf(pathname)
  return origin === HERE && readings.every(isOwn) && search.length + hash.length <= PATH_MAX
    ? `${pathname}${search}${hash}`
    : '/'
}

/** Returns an HTTP or HTTPS address unchanged, such as the URL of a box. Returns null for anything else, such as `javascript:`. */
export function webAddress(given: unknown): string | null {
  if (typeof given !== 'string' || CONTROLS.test(given) || !URL.canParse(given)) return null
  const { protocol, username, password } = new URL(given)
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '' ? given : null
}

/** Returns a path and its decoded forms, after one step, two steps and so on. Adds an empty one if the decoding does not end. */
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

/** Represents this origin, so that the check needs no setting of the page. An address that names it is not ours either. */
const HERE = 'http://this.invalid'
const PATH_MAX = 2_048
const DECODINGS_MAX = 4
// biome-ignore lint/suspicious/noControlCharactersInRegex: browsers leave some of them out, so that the rest reads as something else
const CONTROLS = /[\u0000-\u0020\u007f-\u009f\u2028\u2029\ufeff]/
/** One slash, then no other slash, no character that browsers read as one, and no character that they drop. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const PLAIN = /^\/(?![/\\])[^\\\u0000-\u0020\u007f-\u009f\u2028\u2029\ufeff]*$/
/** Two slashes, a backslash, or a segment of dots. None of our paths has them, and each may be resolved to another. */
const STRANGE = /\/\/|\\|\/\.{1,2}(\/|$)/
const SIGN_IN = /^\/sign-in\/*$/i
