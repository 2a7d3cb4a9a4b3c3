import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda'
import { problemResponse } from '../shared/http/messages.ts'
import { newId } from '../shared/ids.ts'
import { createJsonLogger } from '../shared/log.ts'
import { createApp } from './app.ts'
import { createAuthenticator } from './auth.ts'
import { readFrontSettings } from './config.ts'
import { createForward } from './forward.ts'
import { createKeyring } from './keyring.ts'
import { fromLambdaEvent, RESULT_MAX_BYTES, toLambdaResult } from './lambda-event.ts'
import { createNodeTransport } from './node-transport.ts'
import { createSigning } from './signing.ts'

const settings = readFrontSettings()
const now = Date.now
const write = (line: string): void => void process.stderr.write(`${line}\n`)
const logger = createJsonLogger({ level: settings.logLevel, now, write })
const keyring = createKeyring({ ...settings, logger, now })
const forward = createForward({
  transport: createNodeTransport({ agentUrl: settings.agentUrl, tls: settings.channelTls }),
  signing: createSigning({ keyring, logger, now }),
  timeoutMs: settings.agentTimeoutMs,
  answerBytesMax: RESULT_MAX_BYTES,
})
const app = createApp({
  authenticate: createAuthenticator({ keyring, now }),
  forward,
  // An event holds the whole body already.
  forwardBytes: async (head) => forward({ ...head, body: await head.request.readBody(head.operation.maxBodyBytes) }),
  bodies: null,
  turns: null,
  strangers: null,
  logger,
  audit: createJsonLogger({ level: 'info', now, write }),
  now,
})

/** The function behind API Gateway's HTTP API, for every route. */
export async function handler(event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> {
  const request = fromLambdaEvent(event)
  const response = await app(request)
  try {
    return await toLambdaResult(response, request.method)
  } catch (error) {
    const requestId = String(response.headers['x-request-id'] ?? newId('req', now()))
    logger.error('A request failed', { request_id: requestId, error })
    return toLambdaResult(problemResponse(error, requestId), request.method)
  }
}
