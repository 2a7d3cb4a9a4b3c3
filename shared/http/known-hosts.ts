import { isIP, isIPv4, isIPv6 } from 'node:net'
import { ServiceError } from '../errors.ts'
import { newId } from '../ids.ts'
import {
  givenRequestId,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  problemResponse,
} from './messages.ts'
import { escapeHtml, pageHeaders, pageOf, prefersPage } from './page.ts'

/** Tests whether a `Host` header names this deployment. A request without one does not come from a browser, and passes. */
export type KnownHosts = (host: string | undefined) => boolean

/**
 * Creates the test for `Host`. Knows the addresses and names that no attacker can redirect: IP literals, `localhost` and the names below
 * it, and `names`, such as `api.example.org`, or `*.example.org` for all names below that. A page therefore cannot reach a listener by its
 * own name that resolves to the listener's address (DNS rebinding). Case, port and a trailing dot do not matter.
 */
export function createKnownHosts(names: Iterable<string>): KnownHosts {
  const exact = new Set<string>(['localhost'])
  const ends: string[] = ['.localhost']
  for (const name of names) {
    const plain = nameOf(name)
    if (plain.startsWith('*.')) ends.push(plain.slice(1))
    else if (plain !== '') exact.add(plain)
  }
  return (host) => {
    if (host === undefined) return true
    const [, literal, name = ''] = HOST.exec(host) ?? []
    if (literal !== undefined) return isIPv6(literal)
    const plain = nameOf(name)
    return isIPv4(plain) || exact.has(plain) || (plain !== '' && ends.some((end) => plain.endsWith(end)))
  }
}

/** The texts from which a machine's own names come. */
export interface MachineTexts {
  hostname: string
  /** Text of `/etc/hosts`. May be empty. */
  hosts: string
  /** Text of `/etc/resolv.conf`. May be empty. */
  resolver: string
}

/**
 * Returns the names of a machine: its host name, also with `.local` and with the domains that its resolver searches. Adds the other names
 * on the lines of `/etc/hosts` that contain the host name. Other lines are not its own, and may name an attacker's host. Pure.
 */
export function machineNames({ hostname, hosts, resolver }: MachineTexts): string[] {
  const own = nameOf(hostname)
  if (own === '' || isIP(own) !== 0) return []
  const [short = own] = own.split('.')
  const fields = (text: string): string[][] =>
    text.split('\n').map((line) =>
      line
        .replace(/[#;].*/, '')
        .trim()
        .split(/\s+/),
    )
  const domains = fields(resolver).flatMap(([word, ...rest]) => (word === 'search' || word === 'domain' ? rest : []))
  const beside = fields(hosts)
    .map(([, ...names]) => names.map(nameOf))
    .filter((names) => names.includes(own) || names.includes(short))
  const searched = domains.map((domain) => `${short}.${nameOf(domain)}`)
  return [...new Set([own, short, `${short}.local`, ...searched, ...beside.flat()])].filter((name) => name !== '')
}

/** Returns the host names of origins, such as `data.example.org` for `https://data.example.org`. */
export function hostsOfOrigins(origins: readonly (string | null)[]): string[] {
  return origins.flatMap((origin) => (origin !== null && URL.canParse(origin) ? [new URL(origin).hostname] : []))
}

export interface HostRule {
  isKnown: KnownHosts
  /**
   * Tests whether a request has a credential that a page of an unknown host cannot have: a valid token, or a ticket for the operation.
   * Never rejects.
   */
  isAuthorized(request: Pick<HttpRequest, 'method' | 'target' | 'headers'>): Promise<boolean>
  /** Milliseconds since the epoch. */
  now(): number
}

/** Wraps a handler. Refuses requests for an unknown host that have no authority of their own. */
export function refuseUnknownHosts(rule: HostRule, handler: HttpHandler): HttpHandler {
  return async (request) => {
    const error = await unknownHost(rule, request)
    return error === null ? handler(request) : refusalOf(error, request, rule)
  }
}

/** Returns the error for a request with an unknown `Host`, or null if it is allowed. */
export async function unknownHost(
  { isKnown, isAuthorized }: Pick<HostRule, 'isKnown' | 'isAuthorized'>,
  request: Pick<HttpRequest, 'method' | 'target' | 'headers'>,
): Promise<ServiceError | null> {
  const host = headerOf(request.headers, 'host')
  if (isKnown(host) || (await isAuthorized(request))) return null
  return new ServiceError(
    'misdirected_request',
    `This service does not know the host name ${shownHost(host)}. Use a name or address that it knows, or add this name to BOXYARD_HOSTS.`,
  )
}

function refusalOf(error: ServiceError, { headers }: HttpRequest, { now }: HostRule): HttpResponse {
  const requestId = givenRequestId(headers) ?? newId('req', now())
  const problem = problemResponse(error, requestId)
  if (!prefersPage(headerOf(headers, 'accept'))) return problem
  const small = `${error.code} · ${requestId}`
  const main = `<p>${escapeHtml(error.message)}</p>\n<p class="small">${escapeHtml(small)}</p>`
  const body = pageOf({ title: 'Unknown host name', main })
  return { status: problem.status, headers: { ...problem.headers, ...pageHeaders() }, body }
}

/** The first 100 letters of the name, safe to show. */
function shownHost(host = ''): string {
  return JSON.stringify(host.slice(0, SHOWN_LETTERS))
}

function nameOf(text: string): string {
  return text.toLowerCase().replace(/\.$/, '')
}

const HOST = /^(?:\[([0-9a-f:.]+)\]|([^:@/\\[\]\s]*))(?::\d{0,5})?$/i
const SHOWN_LETTERS = 100
