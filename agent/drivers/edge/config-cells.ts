import { isIPv4, isIPv6 } from 'node:net'
import { ERROR_STATUSES } from '../../../shared/errors.ts'
import { HOST_NAME } from './config-shortcut.ts'
import { type EdgeRefusal, pageAnswer, problemAnswer, refusalRules } from './pages.ts'

/** The side of an edge that connects to the edges of the other cells of its fleet. */
export interface CellSide {
  /** Address and port to listen on for other edges. */
  host: string
  port: number
  /** PEM files of mutual TLS with their fingerprint: one of the authority, and one of certificate and key. Null for none. */
  tls: { authority: string; own: string; fingerprint: string } | null
  /** Values of CELL_HEADER that other edges show, hexadecimal. The edge sends all of them and accepts any. */
  secrets: readonly string[]
  /** Their SHA-256, hexadecimal, in the same order. */
  digests: readonly string[]
  /** Path of the map from hosts to the edges of other cells. */
  map: string
}

/** Returns the `bind` line for the edges of other cells, in the frontend of clients. */
export function cellBind({ host, port, tls }: CellSide): string {
  const address = host.includes(':') ? `ipv6@${host}` : host
  const encryption = tls ? ` ssl crt '${tls.own}' ca-file '${tls.authority}' verify required` : ''
  return `  bind ${address}:${port} id ${CELL_SOCKET}${encryption}`
}

/** Refuses requests to the address for other edges without their secret. `is_led` marks requests from those edges. */
export function cellAdmission({ digests }: CellSide): string[] {
  return [
    `  acl is_edge req.hdr(${CELL_HEADER}),sha2(256),hex,lower -m str ${digests.join(' ')}`,
    ...refusalRules(NO_EDGE, 'is_led !is_edge'),
    `  http-request del-header ${CELL_HEADER}`,
    '  http-request set-var(txn.led) bool(1) if is_led',
  ]
}

/** Forwards well-formed requests that need no header changes to another cell, if the map has their host. */
export function quickLead({ map }: CellSide): string[] {
  return [
    '  acl is_routed var(txn.route) -m found',
    '  acl is_away var(txn.cell) -m found',
    `  http-request set-var(txn.cell) req.fhdr(host),lower,${HOST_NAME},map_str('${map}') if !is_routed !is_led is_plain is_box_host !is_refused_method`,
    '  http-request allow if is_away',
  ]
}

/** Forwards requests to another cell if the map has their host. A sign-in belongs to the host that its query names. */
export function lead({ map }: CellSide, signInHost: string): string[] {
  return [
    '  http-request set-var(txn.sought) var(txn.host)',
    `  http-request set-var(txn.sought) url_param(host),url_dec,lower if { var(txn.host) -m str ${signInHost} }`,
    `  http-request set-var(txn.cell) var(txn.sought),map_str('${map}') if !is_led`,
    '  http-request allow if is_away',
  ]
}

/** Asks the agent whether another cell has the host of a request that the agent's own pages would otherwise answer. */
export function leadOwn(): string[] {
  return ['  http-request lua.boxyard_own if is_own !is_led', '  http-request allow if is_away']
}

/** The rules that choose the other cells' edges. */
export const TO_CELLS = ['  use_backend cells_page if is_away is_browser', '  use_backend cells if is_away']

/** The backends of the other cells' edges. Those edges decide everything, so this changes only what a connection needs. */
export function cellBackends(side: CellSide): string[] {
  return [...backend('cells', side, problemAnswer), ...backend('cells_page', side, pageAnswer)]
}

function backend(name: string, { secrets, tls }: CellSide, answerOf: (refusal: EdgeRefusal) => string): string[] {
  const encryption = tls ? ` ssl crt '${tls.own}' ca-file '${tls.authority}' verify required` : ''
  const answer = answerOf(CELL_AWAY)
  return [
    `backend ${name}`,
    '  retries 0',
    '  http-reuse always',
    '  http-request set-dst var(txn.cell),word(1,|)',
    '  http-request set-dst-port var(txn.cell),word(2,|)',
    `  http-request set-header ${CELL_HEADER} ${secrets.join(',')}`,
    '  acl is_upgrade req.hdr(upgrade) -m str -i websocket',
    '  http-request del-header upgrade if !is_upgrade',
    '  http-request set-header connection upgrade if is_upgrade',
    '  http-request set-header upgrade websocket if is_upgrade',
    '  http-response set-var(txn.answered) bool(1) if { status 502:504 }',
    ...[502, 503, 504].map((status) => `  http-error status ${status} ${answer}`),
    `  http-after-response set-status ${ERROR_STATUSES.get(CELL_AWAY.code)} if { status 502:504 } !{ var(txn.answered) -m found }`,
    // Closed here before the other edge would, which could race with a request.
    `  server cell 0.0.0.0:0${encryption} pool-purge-delay 30s`,
  ]
}

/**
 * Encodes the address of another cell's edge as a map value, `<address>|<port>`.
 * @throws Error for a value that could break out of a file or command
 */
export function encodeCell({ address, port }: { address: string; port: number }): string {
  const isSound = (isIPv4(address) || isIPv6(address)) && Number.isInteger(port) && port > 0 && port < 65_536
  if (!isSound || address.includes('%')) throw new Error(`not the address of an edge: ${JSON.stringify(address)}`)
  return `${address}|${port}`
}

/** Id of the socket for other edges. The first is for clients. */
const CELL_SOCKET = 2
/** Condition of requests to that socket. */
export const IS_LED = `so_id ${CELL_SOCKET}`
/** The header by which edges of a fleet identify each other. No client can forge it, and no box sees it. */
const CELL_HEADER = 'x-boxyard-cell'
const NO_EDGE: EdgeRefusal = {
  code: 'permission_denied',
  detail: 'This address is for the edges of the fleet only.',
  wayOut: 'Use the public address of the edge.',
}
const CELL_AWAY: EdgeRefusal = {
  code: 'agent_unavailable',
  detail: 'The node that this address belongs to does not answer.',
}
