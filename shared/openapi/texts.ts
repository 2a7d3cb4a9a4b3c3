import { PORT_END, PORT_MESSAGE_BYTES, PORT_PROTOCOL } from '../http/port-frames.ts'
import { type Operation, opensByTicket } from '../operation.ts'

/** Describes an operation: what it does and needs, and how its bodies and streams travel. */
export function descriptionOf(operation: Operation): string {
  const { permission } = operation
  if (permission === null) return `${operation.summary}. Needs no token.${BAD_TOKEN_TEXTS[operation.badToken]}`
  const scope = operation.ofAllProjects ? ' for all projects' : ''
  const needs = `Needs ${permission === 'any' ? 'a valid token' : `a token with \`${permission}\`${scope}`}`
  const orTicket = opensByTicket(operation) ? ', or a ticket' : ''
  return [`${operation.summary}. ${needs}${orTicket}.`, ...paragraphsOf(operation)].join('\n\n')
}

function typesOf(bytesIn: string): string {
  return [...new Set([bytesIn, ANY_BYTES])].map((type) => `\`${type}\``).join(' or ')
}

function paragraphsOf({ id, transport, bytesIn, bytesOut, response }: Operation): string[] {
  return [
    ...(transport === 'websocket' ? [id === 'openPort' ? PORT_TEXT : WEBSOCKET_TEXT] : []),
    ...(bytesIn === null ? [] : [`${BYTES_IN_TEXT} as ${typesOf(bytesIn)}, of any length. ${BYTES_IN_END}`]),
    ...(id === 'writeArchive' ? [ARCHIVE_IN_TEXT] : []),
    ...(id === 'createBase' ? [BASE_TEXT] : []),
    ...(id === 'deleteBase' ? [BASE_GONE_TEXT] : []),
    ...(bytesOut === 'text/event-stream' ? [EVENT_STREAM_TEXT] : []),
    ...(bytesOut === null || NAMED_TYPES.has(bytesOut) || response === null
      ? []
      : ['`Accept: application/json` asks for JSON.']),
  ]
}

/** Returns the tag of an operation, one of `TAGS`. */
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

const WEBSOCKET_TEXT = `Asks for an upgrade to a WebSocket (RFC 6455) with one of these subprotocols:

- \`v5.channel.k8s.io\`: binary messages, whose first byte is the channel; \`[255, channel]\` closes one. Text of a client is taken as its bytes.
- \`v4.channel.k8s.io\`: the same without closing.
- \`v4.base64.channel.k8s.io\`: text messages: an ASCII digit for the channel, then base64.

Channels: 0 stdin, 1 stdout, 2 stderr, 3 status, 4 resize. Resize carries \`{"Width":80,"Height":24}\`. Status carries, once, a
Kubernetes \`Status\`: \`Success\`, or \`Failure\` with reason \`NonZeroExitCode\` and the cause \`ExitCode\`; a signal ends as code
128 + n. The server then closes with 1000. It pings every 15 s, and leaves a peer that is silent for 45 s.`
const PORT_TEXT = `Asks for an upgrade to a WebSocket (RFC 6455), with the subprotocol \`${PORT_PROTOCOL}\` or none, that carries one TCP connection to
a port of the box: to its loopback or, where nothing listens there, to its own address. Binary messages are its bytes, of a client at most ${PORT_MESSAGE_BYTES / 1024} KiB each,
as they come. The text message \`${PORT_END}\` ends the direction of its sender, and the other goes on; once both have ended the server
closes with 1000. It closes with 1011 if the connection was reset or the box stopped. A client that closes with 1000 or 1001 closes the
connection, and one that is cut off resets it. The server pings every 15 s, and leaves a peer that is silent for 45 s; a connection
without bytes stays open. A stopped box whose \`url_settings.wake\` is set is started first.`
const BYTES_IN_TEXT = 'The body is sent as it is,'
const BYTES_IN_END =
  'One that breaks off changes nothing that was whole before. A function takes 4 MiB: use a ticket for more.'
const EVENT_STREAM_TEXT = `\`Accept: text/event-stream\` asks for a stream, of an item a message: its \`id\` is the cursor, which \`Last-Event-ID\` goes on from. A
message without data comes every 15 s; one named \`problem\` says why the stream ends.`
const BAD_TOKEN_TEXTS = { refused: '', ignored: ' One that is broken, expired or revoked counts as none.' } as const
/** Types whose request is described elsewhere. */
const NAMED_TYPES: ReadonlySet<string> = new Set(['application/json', 'text/event-stream'])
const ARCHIVE_IN_TEXT =
  'Entries are made as they come: those before the point at which the body breaks off, or is found to be altered, stay.'
const BASE_TEXT = [
  'An image is pulled from its registry, at public addresses alone unless the operator has named it; deleting its base ends that.',
  'The tar of a root filesystem may be compressed (gzip, zstd); `?name=` names its base. What leads out of the tree, and every',
  'device, is left out and told in `unpacked`. With `image=true` it is the archive of an image (OCI, or of `docker save`).',
  'An Idempotency-Key stands for the name alone, whatever the archive holds.',
].join('\n')
const BASE_GONE_TEXT =
  '`X-Used-By-Count` tells how many boxes of your projects were made from it. They are copies: nothing happens to them.'
/** Tags by name, with what they hold. */
export const TAGS: Record<string, string> = {
  system: 'Health, version, configuration, storage, operations',
  tokens: 'Access tokens',
  boxes: 'Boxes, their life cycle and snapshots',
  services: 'Services and their versions',
  events: 'Events and the audit log',
  exec: 'Commands in boxes',
  streams: 'WebSockets, consoles and tickets',
  files: 'Files of boxes',
  data: 'Data volumes, their snapshots and backups',
  quota: 'What a project may use',
}

/** The type of bytes that every generator of clients knows. */
export const ANY_BYTES = 'application/octet-stream'
