import { PORT_END, PORT_MESSAGE_BYTES, PORT_PROTOCOL } from '../http/port-frames.ts'
import { type Operation, opensByTicket } from '../operation.ts'

/** Describes an operation, its requirements, and how its bodies and streams travel. */
export function descriptionOf(operation: Operation): string {
  const { permission, summary, details } = operation
  const does = details === null ? `${summary}.` : `${summary}. ${details}`
  if (permission === null) return `${does} Needs no token.${BAD_TOKEN_TEXTS[operation.badToken]}`
  const scope = operation.ofAllProjects ? ' for all projects' : ''
  const needs = `Needs ${permission === 'any' ? 'a valid token' : `a token with \`${permission}\`${scope}`}`
  const orTicket = opensByTicket(operation) ? ', or a ticket' : ''
  return [`${does} ${needs}${orTicket}.`, ...paragraphsOf(operation)].join('\n\n')
}

function typesOf(bytesIn: string): string {
  return [...new Set([bytesIn, ANY_BYTES])].map((type) => `\`${type}\``).join(' or ')
}

function paragraphsOf({ id, transport, bytesIn, bytesOut, response }: Operation): string[] {
  return [
    ...(transport === 'websocket' ? [id === 'openPort' ? PORT_TEXT : WEBSOCKET_TEXT] : []),
    ...(bytesIn === null ? [] : [`${BYTES_IN_TEXT} (${typesOf(bytesIn)}) of any length. ${BYTES_IN_END}`]),
    ...(id === 'writeArchive' ? [ARCHIVE_IN_TEXT] : []),
    ...(id === 'createBase' ? [BASE_TEXT] : []),
    ...(id === 'deleteBase' ? [BASE_GONE_TEXT] : []),
    ...(bytesOut === 'text/event-stream' ? [EVENT_STREAM_TEXT] : []),
    ...(bytesOut === null || NAMED_TYPES.has(bytesOut) || response === null
      ? []
      : ['Send `Accept: application/json` for JSON.']),
  ]
}

/** Returns the tag of an operation from `TAGS`. */
export function tagOf(operation: Operation): string {
  if (operation.transport === 'websocket' || /\/(sessions|tickets)\b/.test(operation.path)) return 'streams'
  if (operation.path.includes('/files')) return 'files'
  if (operation.path.includes('/services')) return 'services'
  if (operation.path.endsWith('/events') || operation.path === '/v1/audit') return 'events'
  if (operation.path.includes('/exec')) return 'exec'
  if (operation.path.includes('/boxes')) return 'boxes'
  if (operation.path.includes('/bases')) return 'bases'
  if (operation.path.includes('/data') || operation.path.endsWith('/backups')) return 'data'
  if (operation.path.endsWith('/quota') || operation.path === '/v1/projects') return 'quota'
  return /^\/v1\/(tokens|me|session)\b/.test(operation.path) ? 'tokens' : 'system'
}

const WEBSOCKET_TEXT = `Request an upgrade to a WebSocket (RFC 6455) with one of these subprotocols:

- \`v5.channel.k8s.io\`: binary messages. The first byte is the channel, and \`[255, channel]\` closes a channel. Text from a client is read as bytes.
- \`v4.channel.k8s.io\`: the same, without closing channels.
- \`v4.base64.channel.k8s.io\`: text messages with an ASCII digit for the channel, then base64.

Channels: 0 stdin, 1 stdout, 2 stderr, 3 status, 4 resize. Resize carries \`{"Width":80,"Height":24}\`. Status carries one
Kubernetes \`Status\`: \`Success\`, or \`Failure\` with reason \`NonZeroExitCode\` and the cause \`ExitCode\`. Signal n is reported as
exit code 128 + n. The server then closes with 1000. It pings every 15 s, and drops a peer that is silent for 45 s.`
const PORT_TEXT = `Request an upgrade to a WebSocket (RFC 6455) with the subprotocol \`${PORT_PROTOCOL}\` or none. The WebSocket carries one TCP connection to
a port of the box, on its loopback address or, if nothing listens there, on its network address.

- Binary messages carry the bytes of the connection. A client can send at most ${PORT_MESSAGE_BYTES / 1024} KiB per message.
- The text message \`${PORT_END}\` ends the direction of its sender, and the other direction stays open.
- The server closes with 1000 after both directions end, and with 1011 if the connection is reset or the box stops.
- If the client closes with 1000 or 1001, the connection is closed. If the client is cut off, the connection is reset.
- The server pings every 15 s, and drops a peer that is silent for 45 s. An idle connection stays open.
- A stopped box with \`url_settings.wake\` starts first.`
const BYTES_IN_TEXT = 'Send the body as raw bytes'
const BYTES_IN_END =
  'An interrupted upload leaves existing files and resources intact. A function accepts 4 MiB: use a ticket for more.'
const EVENT_STREAM_TEXT = `\`Accept: text/event-stream\` requests a stream with one item per message. The \`id\` of a message is the cursor. Send it as
\`Last-Event-ID\` to continue after it. A message without data arrives every 15 s, and a message named \`problem\` says why the stream ends.`
const BAD_TOKEN_TEXTS = { refused: '', ignored: ' A malformed, expired or revoked token counts as no token.' } as const
/** Types whose request is described elsewhere. */
const NAMED_TYPES: ReadonlySet<string> = new Set(['application/json', 'text/event-stream'])
const ARCHIVE_IN_TEXT =
  'Entries are created as they arrive. If the body is interrupted or found to be altered, entries created before that stay.'
const BASE_TEXT = [
  '- An image is pulled from its registry. Only public addresses are allowed, unless the operator has named the registry. Deleting the base cancels the pull.',
  '- The tar of a root filesystem can be compressed (gzip, zstd). `?name=` names its base. Devices, and entries that lead out of the tree, are omitted and listed in `unpacked`.',
  '- With `image=true`, the archive is an image (OCI, or from `docker save`).',
  '- An Idempotency-Key covers only the name, not the content of the archive.',
].join('\n')
const BASE_GONE_TEXT =
  '`X-Used-By-Count` returns the number of boxes in your projects created from it. They are copies and stay unchanged.'
/** Tags by name, with their contents. */
export const TAGS: Record<string, string> = {
  system: 'Health, version, configuration, storage and operations',
  tokens: 'Access tokens',
  boxes: 'Boxes: life cycle and snapshots',
  services: 'Services and their versions',
  events: 'Events and the audit log',
  exec: 'Commands in boxes',
  streams: 'WebSockets, consoles and tickets',
  files: 'Files of boxes',
  data: 'Data volumes, snapshots and backups',
  quota: 'Projects and quotas',
}

/** The type of bytes that every client generator knows. */
export const ANY_BYTES = 'application/octet-stream'
