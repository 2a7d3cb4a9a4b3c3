import { originOf, reachOf } from './addresses.ts'

/**
 * Returns the origin of a service from its URL as people write it. Ignores white space around it and slashes at its end. A missing scheme
 * is HTTP for this machine, because no network lies between, otherwise HTTPS. `source` names the URL in errors, such as `BOXYARD_URL`.
 * @throws TypeError for a URL that is not an origin. Its message holds no password, path or query, because they can be secret.
 */
export function serviceOrigin(text: string | undefined, source = 'url'): string {
  const given = text?.trim() ?? ''
  if (given === '') throw new TypeError(`${source}: ${EXPECTED} It is empty.`)
  const url = BLANK.test(given) ? null : parse(given.replace(/\/+$/, ''))
  if (url === null) throw new TypeError(`${source}: ${EXPECTED} It is not a URL.`)
  if (!SERVICE.has(url.protocol)) throw new TypeError(`${source}: ${EXPECTED} It begins with ${url.protocol}//.`)
  const origin = originOf(url)
  if (url.username !== '' || url.password !== '')
    throw new TypeError(`${source}: has a user name or a password, but the service takes a token. Use ${origin}`)
  if (`${url.pathname}${url.search}${url.hash}` !== '/')
    throw new TypeError(`${source}: has something after the host and port, such as a path. Use ${origin}`)
  return origin
}

function parse(text: string): URL | null {
  if (text.includes('://')) return URL.canParse(text) ? new URL(text) : null
  // `http:host` lacks its slashes.
  if (/^https?:/i.test(text) || !URL.canParse(`https://${text}`)) return null
  const isHere = reachOf(new URL(`https://${text}`).hostname) === 'loopback'
  return new URL(`${isHere ? 'http' : 'https'}://${text}`)
}

const EXPECTED = 'must begin with http:// or https://, such as https://boxes.example or http://127.0.0.1:8080.'
const SERVICE = new Set(['http:', 'https:'])
/** URL parsers ignore some of these, and a host or port has none. */
const BLANK = /[\s\\]/
