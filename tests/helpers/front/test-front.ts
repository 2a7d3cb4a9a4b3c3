import { createApp } from '../../../functions/app.ts'
import { createAuthenticator } from '../../../functions/auth.ts'
import { createBodyTurns } from '../../../functions/body-turns.ts'
import { createForward, type ForwardBytes } from '../../../functions/forward.ts'
import { createForwardBytes } from '../../../functions/forward-bytes.ts'
import { createKeyring, type Keyring } from '../../../functions/keyring.ts'
import { RESULT_MAX_BYTES } from '../../../functions/lambda-event.ts'
import { createNodeTransport } from '../../../functions/node-transport.ts'
import { createPoolTransport } from '../../../functions/pool-transport.ts'
import { createSigning } from '../../../functions/signing.ts'
import type { StrangerTurns } from '../../../functions/stranger-turns.ts'
import type { AgentTransport } from '../../../functions/transport.ts'
import { createChannelKeys, createTokenKeys, publicTokenKeys } from '../../../shared/auth/keys.ts'
import { mintToken, type TokenClaims } from '../../../shared/auth/tokens.ts'
import type { BodyBudget } from '../../../shared/http/body-budget.ts'
import type { HttpHandler, HttpRequest, HttpResponse } from '../../../shared/http/messages.ts'
import type { LogFields, Logger } from '../../../shared/log.ts'
import { silentLogger } from '../silent-logger.ts'

/** Creates the keys of a deployment, for use by one test file. */
export function makeDeployment() {
  const channelKeys = createChannelKeys()
  const tokenKeys = createTokenKeys()
  const keyring = createKeyring({
    channelKeys: { text: JSON.stringify(channelKeys) },
    tokenKeys: { text: JSON.stringify(publicTokenKeys(tokenKeys)) },
    logger: silentLogger,
    now: Date.now,
  })
  const mint = (claims: Partial<TokenClaims> = {}): Promise<string> =>
    mintToken(tokenKeys, {
      jti: 'tok_00000000000000000000000000',
      sub: 'test',
      projects: '*',
      permissions: ['read', 'write', 'exec', 'ports', 'admin'],
      iat: Math.floor(Date.now() / 1000),
      exp: null,
      ...claims,
    })
  return { channelKeys, tokenKeys, keyring, mint }
}

/** Creates the token of tests/contract/front, which has all permissions except `exec`. */
export function mintForContract({ mint }: ReturnType<typeof makeDeployment>): Promise<string> {
  return mint({ permissions: ['read', 'write', 'ports', 'admin'] })
}

/** Creates a front in this process for the agent at `agentUrl`. */
export function makeFront(options: {
  agentUrl: string
  keyring: Keyring
  kind?: 'pool' | 'node'
  timeoutMs?: number
  logger?: Logger
  audit?: Logger
  bodies?: BodyBudget
  connections?: number
  strangers?: StrangerTurns
}): { app: HttpHandler; transport: AgentTransport } {
  const { agentUrl, keyring, kind = 'pool', timeoutMs = 30_000, logger = silentLogger, audit = silentLogger } = options
  const { bodies = null, strangers = null, ...more } = options
  const signing = createSigning({ keyring, logger, now: Date.now })
  const authenticate = createAuthenticator({ keyring, now: Date.now })
  const given = { authenticate, bodies, logger, audit, now: Date.now }
  if (kind === 'pool') {
    const transport = createPoolTransport({ ...more, tls: null })
    const forward = createForward({ transport, signing, timeoutMs, answerBytesMax: null })
    const forwardBytes = createForwardBytes({ transport, signing, timeoutMs, forward })
    return { app: createApp({ ...given, forward, forwardBytes, turns: createBodyTurns(), strangers }), transport }
  }
  const transport = createNodeTransport({ agentUrl, tls: null })
  const forward = createForward({ transport, signing, timeoutMs, answerBytesMax: RESULT_MAX_BYTES })
  const forwardBytes: ForwardBytes = async (head) =>
    forward({ ...head, body: await head.request.readBody(head.operation.maxBodyBytes) })
  return { app: createApp({ ...given, forward, forwardBytes, turns: null, strangers }), transport }
}

/** Builds a request as a host adapter would. */
export function makeRequest(
  method: string,
  target: string,
  given: { headers?: Record<string, string>; body?: string | Uint8Array; signal?: AbortSignal } = {},
): HttpRequest {
  const body = Buffer.from(given.body ?? '')
  const type: Record<string, string> = body.length > 0 ? { 'content-type': 'application/json' } : {}
  return {
    method,
    target,
    headers: { ...type, ...given.headers },
    clientAddress: '192.0.2.1',
    signal: given.signal ?? new AbortController().signal,
    readBody: async () => body,
    openBody: async function* () {
      if (body.length > 0) yield body
    },
  }
}

/** Parses the JSON of an answer with a complete body. */
export function jsonOf(response: HttpResponse): Record<string, unknown> {
  const body = response.body as string | Uint8Array
  return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString('utf8')) as Record<string, unknown>
}

/** Creates a logger that records its lines. */
export function makeRecorder(): { logger: Logger; lines: { level: string; message: string; fields: LogFields }[] } {
  const lines: { level: string; message: string; fields: LogFields }[] = []
  const take =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields })
  const logger: Logger = {
    debug: take('debug'),
    info: take('info'),
    warn: take('warn'),
    error: take('error'),
    child: () => logger,
  }
  return { logger, lines }
}
