/*
 * The signatures of the channel are not HTTP Message Signatures (RFC 9421). There the sender names the covered parts in structured fields,
 * which the verifier must parse and judge. Nonces, replay and restarts still need a separate profile. Here two ends know each other. A
 * fixed list of headers and one HMAC over one text leave less to get wrong, and cost less on each request. A streamed body would need a
 * digest (RFC 9530) and a second signature in trailers. Here a MAC seals its end, much faster than a hash. Its key derives from the head's
 * signature.
 */
import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { HeaderMap } from '../http/messages.ts'
import { takeRandomBytes } from '../random-bytes.ts'
import { type BodyMac, bodyMac } from './body-mac.ts'
import { createReplayMemory } from './replay-memory.ts'

/** One shared secret of the channel. The first of a set signs, and all verify. */
export interface ChannelKey {
  /** 1–32 of `a-z 0-9 -`. */
  id: string
  /** At least 32 bytes, base64url. */
  secret: string
}

/** The part of a request that a signature covers besides the body. `headers` may hold more than is signed. */
export interface ChannelRequest {
  method: string
  /** Path and query exactly as on the wire. */
  target: string
  headers: HeaderMap
}

/** The reason for a refusal. */
export type RefusalReason =
  | 'unsigned'
  | 'unknown_key'
  | 'signature'
  | 'stale'
  | 'restarted'
  | 'replayed'
  | 'body'
  | 'overloaded'

/** Details of a refusal, for the audit line. `skewMs` is how far the sender's clock is ahead of the verifier's. */
export interface Refusal {
  isAccepted: false
  reason: RefusalReason
  keyId: string | null
  skewMs: number | null
  /** Only with `restarted`. The value for AGENT_RUN_HEADER under the next signature. */
  agentRun?: string
}

/** An accepted request. Only `headers` were signed, so the rest of the head is untrusted. */
export interface Acceptance {
  isAccepted: true
  keyId: string
  headers: Record<string, string>
  /** Returns true if these bytes are the body that was signed. Call it before using them. */
  matchesBody(body: Uint8Array): boolean
  /** Creates the MAC that verifies the seal of a streamed body (`openSealed`). Null if the body itself was signed. */
  bodyMac: (() => BodyMac) | null
}

export interface SignerOptions {
  /** Called at each request, so that a rotation needs no restart. */
  keys(): readonly ChannelKey[]
  agentId(): string
  /** Milliseconds since the epoch. */
  now(): number
}

export interface VerifierOptions {
  keys(): readonly ChannelKey[]
  /** Read at each request, because a cell that joins a fleet adopts the fleet's id. */
  readonly agentId: string
  now(): number
  /** Start of this verifier's process. It cannot know which earlier requests are replays (`createVerifier`). */
  startedAt: number
  /** Tolerated difference of the two clocks. Default: 30,000. */
  maxSkewMs?: number
  /** Maximum number of nonces remembered. Beyond it the verifier refuses requests as `overloaded`. Default: 500,000. */
  nonceCapacity?: number
}

/**
 * Returns the value of SIGNATURE_HEADER for a request with this body. Pass null for a streamed body, which `bodyMac` of that value seals.
 * Each call creates a new nonce.
 */
export type Signer = (request: ChannelRequest, body: Uint8Array | null) => string

/** Verifies the head of a request. `matchesBody` verifies the body once it has been read. */
export type Verifier = (request: ChannelRequest) => Acceptance | Refusal

/** Signs requests from the functions to the agent. */
export function createSigner(options: SignerOptions): Signer {
  const secrets = createSecretCache()
  return (request, body) => {
    const key = options.keys()[0]
    if (!key) throw new Error('the channel has no key to sign with')
    const nonce = takeRandomBytes(NONCE_BYTES).toString('base64url')
    const stamp = {
      keyId: key.id,
      time: String(options.now()),
      nonce,
      bodyDigest: body === null ? STREAMED_DIGEST : digestOf(body),
    }
    const mac = sign(secrets(key), canonicalText(stamp, options.agentId(), request)).toString('base64url')
    return [VERSION, stamp.keyId, stamp.time, stamp.nonce, stamp.bodyDigest, mac].join('.')
  }
}

/**
 * Creates the agent's verifier. Remembers nonces for as long as their time is acceptable. An earlier process may have accepted requests
 * whose nonces are gone, stamped as late as `startedAt + maxSkewMs`. A stamp up to then therefore needs a signature over this run's id,
 * which a `restarted` refusal sends to key holders. Nothing is accepted twice, unless the agent's clock is set back across its restart.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { maxSkewMs = MAX_SKEW_MS, nonceCapacity = NONCE_CAPACITY } = options
  const open = createOpener(options)
  const replays = createReplayMemory({ lifetimeMs: maxSkewMs, capacity: nonceCapacity })
  const agentRun = randomBytes(NONCE_BYTES).toString('base64url')
  return (request) => {
    const opened = open(request)
    if ('isAccepted' in opened) return opened
    const { parsed, key, facts, sentAt, now } = opened
    if (sentAt <= options.startedAt + maxSkewMs && !runsOf(request).includes(agentRun)) {
      return { ...refuse('restarted', facts), agentRun }
    }
    const memory = replays.remember(parsed.nonce, { sentAt, now })
    if (memory !== 'new') return refuse(memory === 'full' ? 'overloaded' : 'replayed', facts)
    return {
      isAccepted: true,
      keyId: parsed.keyId,
      headers: signedHeaders(request.headers),
      matchesBody: (body) => digestOf(body) === parsed.bodyDigest,
      bodyMac:
        parsed.bodyDigest === STREAMED_DIGEST ? () => bodyMac(key, String(request.headers[SIGNATURE_HEADER])) : null,
    }
  }
}

/** Creates the check of a forwarding agent for sender and time of a request. The answering agent verifies replays and the body. */
export function createSenderCheck(
  options: Omit<VerifierOptions, 'startedAt' | 'nonceCapacity'>,
): (request: ChannelRequest) => Refusal | null {
  const open = createOpener(options)
  return (request) => {
    const opened = open(request)
    return 'isAccepted' in opened ? opened : null
  }
}

/** A valid and current signature. */
type Opened = { parsed: Stamp; key: ChannelKey; facts: SenderFacts; sentAt: number; now: number }

function createOpener(
  options: Omit<VerifierOptions, 'startedAt' | 'nonceCapacity'>,
): (request: ChannelRequest) => Opened | Refusal {
  const { maxSkewMs = MAX_SKEW_MS } = options
  const secrets = createSecretCache()
  return (request) => {
    const parsed = parseSignature(request.headers[SIGNATURE_HEADER])
    if (!parsed) return refuse('unsigned')
    const now = options.now()
    const sentAt = Number(parsed.time)
    const facts = { keyId: parsed.keyId, skewMs: sentAt - now }
    const key = options.keys().find((one) => one.id === parsed.keyId)
    if (!key) return refuse('unknown_key', facts)
    const expected = sign(secrets(key), canonicalText(parsed, options.agentId, request))
    if (!timingSafeEqual(expected, parsed.mac)) return refuse('signature', facts)
    if (Math.abs(sentAt - now) > maxSkewMs) return refuse('stale', facts)
    return { parsed, key, facts, sentAt, now }
  }
}

function runsOf({ headers }: ChannelRequest): string[] {
  const value = headers[AGENT_RUN_HEADER]
  return typeof value === 'string' ? value.split(',') : []
}

/** Returns the refusal of a request whose body differs from the signed one. */
export function bodyRefusal(acceptance: Acceptance): Refusal {
  return refuse('body', { keyId: acceptance.keyId, skewMs: null })
}

/** Converts a refusal to a 502 error, with the headers that make the sender reload its keys or sign for this run of the agent. */
export function refusalError({ reason, agentRun }: Refusal): ServiceError {
  return new ServiceError('agent_protocol', 'The agent rejected the signature of this request.', {
    headers: { [REFUSAL_HEADER]: reason, ...(agentRun === undefined ? {} : { [AGENT_RUN_HEADER]: agentRun }) },
  })
}

/** Selects the headers that travel to the agent. The function sends only these, and signs each. */
export function signedHeaders(headers: HeaderMap): Record<string, string> {
  const signed: Record<string, string> = {}
  for (const name of SIGNED_HEADERS) {
    const value = headers[name]
    if (typeof value === 'string') signed[name] = value
  }
  return signed
}

type SenderFacts = { keyId: string; skewMs: number | null }

interface Stamp {
  keyId: string
  time: string
  nonce: string
  bodyDigest: string
}

/** Joins all fields, each with its length, or `-` for an absent one, so that two requests never share a text. */
function canonicalText(stamp: Stamp, agentId: string, request: ChannelRequest): string {
  let text = `boxyard-channel-${VERSION}\n`
  for (const field of [stamp.keyId, agentId, stamp.time, stamp.nonce, request.method, request.target]) {
    text += `${field.length}:${field}`
  }
  for (const name of SIGNED_HEADERS) {
    const value = request.headers[name]
    text += typeof value === 'string' ? `${value.length}:${value}` : '-'
  }
  return `${text}${stamp.bodyDigest.length}:${stamp.bodyDigest}`
}

function parseSignature(header: HeaderMap[string]): (Stamp & { mac: Buffer }) | undefined {
  const match = typeof header === 'string' ? SIGNATURE.exec(header) : null
  if (!match) return undefined
  const [, keyId = '', time = '', nonce = '', bodyDigest = '', mac = ''] = match
  return { keyId, time, nonce, bodyDigest, mac: Buffer.from(mac, 'base64url') }
}

function refuse(reason: RefusalReason, facts: SenderFacts | null = null): Refusal {
  return { isAccepted: false, reason, keyId: facts?.keyId ?? null, skewMs: facts?.skewMs ?? null }
}

function sign(secret: KeyObject, text: string): Buffer {
  return createHmac('sha256', secret).update(text, 'utf8').digest()
}

function digestOf(body: Uint8Array): string {
  return body.length === 0 ? EMPTY_DIGEST : createHash('sha256').update(body).digest('base64url')
}

/** Caches key objects by the key that they derive from, for the lifetime of that key. */
function createSecretCache(): (key: ChannelKey) => KeyObject {
  const cache = new WeakMap<ChannelKey, KeyObject>()
  return (key) => {
    const known = cache.get(key)
    if (known) return known
    const made = createSecretKey(key.secret, 'base64url')
    cache.set(key, made)
    return made
  }
}

/** Carries version, key id, time, nonce, body digest and MAC. */
export const SIGNATURE_HEADER = 'x-boxyard-signature'

/** Header of a refusal: its reason. Never passed on to a client. */
export const REFUSAL_HEADER = 'x-boxyard-refusal'

/**
 * The id of the agent's process, from a `restarted` refusal. Signed after that, with the ids of other agents (commas). Never comes from a
 * client.
 */
export const AGENT_RUN_HEADER = 'x-boxyard-agent-run'

/** The peer's address from the functions, for the audit log. */
export const CLIENT_ADDRESS_HEADER = 'x-boxyard-client-address'

/** Every header that may change the meaning of a request, or that the audit log records. */
export const SIGNED_HEADERS = [
  'accept',
  'authorization',
  'content-encoding',
  'content-type',
  'cookie',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'last-event-id',
  'prefer',
  'range',
  'sec-websocket-protocol',
  'x-request-id',
  CLIENT_ADDRESS_HEADER,
  AGENT_RUN_HEADER,
] as const

const VERSION = 'v1'
const NONCE_BYTES = 16
const MAX_SKEW_MS = 30_000
const NONCE_CAPACITY = 500_000
/** Replaces the digest of a streamed body. No digest ends in `_`, so it matches no other body. */
const STREAMED_DIGEST = 'this-body-comes-in-pieces-so-has-no-digest_'
const EMPTY_DIGEST = '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
const SIGNATURE = /^v1\.([a-z0-9-]{1,32})\.(\d{1,15})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/
