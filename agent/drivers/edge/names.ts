import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { join } from 'node:path'
import type { EdgeGrant, EdgeRoute } from '../../ports/edge/edge.ts'

/** Paths of HAProxy's files below the run directory. Only root can enter it, and HAProxy is chrooted to the jail. */
export function edgePaths(runDir: string) {
  const directory = join(runDir, 'edge')
  const jail = join(directory, 'jail')
  return {
    directory,
    jail,
    routes: join(directory, 'routes.map'),
    grants: join(directory, 'grants.map'),
    cells: join(directory, 'cells.map'),
    /** Certificate and key towards other edges. */
    cellPem: join(directory, 'cell.pem'),
    cellPort: join(directory, 'cell-port'),
    port: join(directory, 'port'),
    /** The secret value of `EDGE_REFUSAL_HEADER`. */
    refusalMark: join(directory, 'refusal-mark'),
    gate: join(jail, 'gate.sock'),
    pages: join(jail, 'pages.sock'),
    asks: join(jail, 'asks.sock'),
    fallback: join(jail, FALLBACK_SOCKET),
    /** Files of one generation of the process. */
    config: (generation: number) => join(directory, `${generation}.cfg`),
    admin: (generation: number) => join(directory, `${generation}.sock`),
  }
}

/** Paths of Caddy's files: written by root and readable by Caddy, except the sockets in `own`. */
export function frontPaths(runDir: string) {
  const directory = join(runDir, 'edge-front')
  const own = join(directory, 'own')
  return {
    directory,
    own,
    /** The socket that HAProxy listens on. */
    socket: join(directory, 'edge.sock'),
    port: join(directory, 'port'),
    askPort: join(directory, 'ask-port'),
    askPath: join(directory, 'ask-path'),
    roots: join(directory, 'roots.pem'),
    /** Files of one generation of the process. */
    config: (generation: number) => join(directory, `${generation}.json`),
    log: (generation: number) => join(directory, `${generation}.log`),
    answers: (generation: number) => join(own, `${generation}.sock`),
  }
}

/**
 * Encodes a route as a map value, `<address>:<port>/<box id>|<project>|<auth>`. For a server of HTTP/2, it has `|h2c` before the last part.
 * The part before the first `|` keys the counters.
 * @throws Error for a field that could break out of a file or command
 */
export function encodeRoute(route: EdgeRoute): string {
  const { host, project, boxId, auth, address, port, protocol } = route
  checkHost(host)
  const isSound =
    isIPv4(address) && Number.isInteger(port) && port > 0 && port < 65_536 && NAME.test(project) && NAME.test(boxId)
  const isKnown = protocol === undefined || protocol === 'h2c'
  if (!isSound || !isKnown || (auth !== 'token' && auth !== 'public')) {
    throw new Error(`not a route: ${JSON.stringify(route)}`)
  }
  return `${address}:${port}/${boxId}|${project}|${protocol === undefined ? '' : `${protocol}|`}${auth}`
}

/** Hashes a configuration's text and other inputs into the mark that its process reports. */
export function markOf(text: string, ...others: readonly unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify([text, ...others]))
    .digest('hex')
}

/** @throws Error unless it is a host name in lower case, without port or trailing dot */
export function checkHost(host: string): void {
  if (!HOST.test(host) || host.length > 253) throw new Error(`not a host name: ${JSON.stringify(host)}`)
}

/**
 * Encodes a grant as a map entry: `<credential>@<scope>`, and its expiry in seconds since the epoch.
 * @throws Error for a malformed grant
 */
export function encodeGrant({ credential, scope, expiresAt }: EdgeGrant): [key: string, value: string] {
  if (!CREDENTIAL.test(credential) || !SCOPE.test(scope) || Number.isNaN(expiresAt)) throw new Error('not a grant')
  const seconds = Math.floor(Math.min(Math.max(expiresAt, 0), LATEST_MS) / 1000)
  return [`${credential}@${scope}`, String(seconds)]
}

/** Returns the credential of a key of the map of grants. */
export function credentialOf(key: string): string {
  return key.slice(0, CREDENTIAL_CHARACTERS)
}

/** The header by which the agent marks its own answers at `FALLBACK_SOCKET`. No box knows its value, and no client sees it. */
export const EDGE_REFUSAL_HEADER = 'x-boxyard-edge-refusal'
/** Socket in the jail for requests that a box did not answer. */
export const FALLBACK_SOCKET = 'fallback.sock'
const CREDENTIAL_CHARACTERS = 64
const NAME = /^[A-Za-z0-9_-]{1,128}$/
const HOST = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/
const CREDENTIAL = /^[0-9a-f]{64}$/
const SCOPE = /^[A-Za-z0-9._-]{1,253}$/
const LATEST_MS = 253_402_300_799_000
/** Replaces the number of a stream in the table of uses, if several streams share an entry. */
export const SHARED_ENTRY = 'shared'
