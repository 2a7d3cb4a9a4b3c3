import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  bodyRefusal,
  createVerifier,
  type Refusal,
  refusalError,
  type VerifierOptions,
} from '../../../shared/auth/channel.ts'
import type { ChannelKeySet } from '../../../shared/auth/keys.ts'
import { openSealed } from '../../../shared/auth/sealed-body.ts'
import {
  type HeaderMap,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  problemResponse,
} from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, serve } from '../../../shared/http/serve.ts'
import { silentLogger } from '../silent-logger.ts'

/** A request that the fake agent accepted. */
export interface SeenRequest {
  method: string
  target: string
  headers: HeaderMap
  /** Empty if `bytes` has the body. */
  body: Buffer
  /** A streamed body, which the front seals at its end. */
  bytes: AsyncIterable<Uint8Array> | null
  request: HttpRequest
}

/** An upstream that verifies the channel as the agent does. It answers as scripted. */
export interface FakeAgent {
  url: string
  port: number
  seen: SeenRequest[]
  refusals: Refusal[]
  respond: (seen: SeenRequest) => HttpResponse | Promise<HttpResponse>
  close(): Promise<void>
}

/** Starts a fake agent on `options.port`, by default a free port. */
export async function startFakeAgent(
  keys: () => ChannelKeySet,
  options: Partial<VerifierOptions> & { port?: number; wrap?: (here: HttpHandler) => HttpHandler } = {},
): Promise<FakeAgent> {
  const verify = createVerifier({
    keys: () => keys().keys,
    agentId: keys().agent_id,
    now: Date.now,
    startedAt: Date.now() - 60_000,
    ...options,
  })
  const agent: FakeAgent = {
    url: '',
    port: 0,
    seen: [],
    refusals: [],
    respond: ({ target }) => jsonResponse(200, { target }),
    close: () => serving.drain(AbortSignal.abort()),
  }
  const refuse = (refusal: Refusal): Error => {
    agent.refusals.push(refusal)
    return refusalError(refusal)
  }
  const answer = async (request: HttpRequest): Promise<HttpResponse> => {
    const verdict = verify(request)
    if (!verdict.isAccepted) throw refuse(verdict)
    const bytes = verdict.bodyMac === null ? null : openSealed(request.openBody(), verdict.bodyMac())
    const body = Buffer.from(bytes === null ? await request.readBody(8 * 1024 * 1024) : '')
    if (bytes === null && !verdict.matchesBody(body)) throw refuse(bodyRefusal(verdict))
    const seen = { method: request.method, target: request.target, headers: verdict.headers, body, bytes, request }
    agent.seen.push(seen)
    return agent.respond(seen)
  }
  const handler = async (request: HttpRequest): Promise<HttpResponse> => {
    const requestId = String(request.headers['x-request-id'])
    const response = await answer(request).catch((error: unknown) => problemResponse(error, requestId))
    return { ...response, headers: { 'x-request-id': requestId, ...response.headers } }
  }
  const server = createServer(SERVER_OPTIONS)
  const { wrap = (here) => here } = options
  const serving = serve(server, { handler: wrap(handler), logger: silentLogger, now: Date.now })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  agent.port = (server.address() as AddressInfo).port
  agent.url = `http://127.0.0.1:${agent.port}`
  return agent
}
