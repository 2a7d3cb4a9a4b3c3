import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda'
import { dieWithParent } from '../../../infra/commands.ts'
import { type LoggingChild, startLoggingChild } from '../../../infra/logging-child.ts'
import { stopChild } from '../../../infra/service-process.ts'

/** A function's package, and AWS's Runtime API client that runs it. */
export interface FunctionPackage {
  /** `index.mjs` of aws-lambda-ric. */
  runtime: string
  /** Directory of the unpacked bundle. */
  taskRoot: string
  handler: string
  /** Time limit of an invocation, in seconds. */
  timeout: number
}

/** One running copy of a function. It handles one event at a time. */
export interface Instance {
  /** Resolves once the function requests its first event. Rejects with its error if its init fails. */
  ready: Promise<void>
  /** Resolves with the function's answer. @throws Error with the function's error, or if the function has ended */
  invoke(event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2>
  close(): Promise<void>
}

interface Invocation {
  id: string
  event: APIGatewayProxyEventV2
  answered: PromiseWithResolvers<APIGatewayProxyStructuredResultV2>
}

/** Starts a function under AWS's client, with its own server that implements the four calls of the Runtime API. */
export async function startInstance(
  { runtime, taskRoot, handler, timeout }: FunctionPackage,
  options: { environment: Record<string, string>; onLine(line: string): void },
): Promise<Instance> {
  const api = createRuntimeApi(timeout)
  const address = await api.listen()
  const child = startLoggingChild({
    command: dieWithParent([process.execPath, runtime]),
    env: {
      ...{ _HANDLER: handler, LAMBDA_TASK_ROOT: taskRoot, AWS_LAMBDA_RUNTIME_API: address },
      ...{ AWS_LAMBDA_FUNCTION_NAME: FUNCTION, AWS_LAMBDA_FUNCTION_VERSION: '$LATEST' },
      ...{ AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '512', AWS_REGION: 'eu-central-1' },
      ...{ AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${FUNCTION}`, AWS_LAMBDA_LOG_STREAM_NAME: 'test' },
      ...options.environment,
      PATH: process.env['PATH'],
    },
    onLine: options.onLine,
  })
  void child.exited.then((how) => api.fail(new Error(`the function ended with ${how}`)))
  return { ready: api.ready, invoke: api.invoke, close: () => closeAll(child, api.server) }
}

async function closeAll(child: LoggingChild, server: Server): Promise<void> {
  await stopChild(child, 10_000)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

/** Serves the Runtime API to one instance: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html */
function createRuntimeApi(timeoutSeconds: number) {
  const ready = Promise.withResolvers<void>()
  // The caller may await it later. Until then, a rejection must not count as unhandled.
  ready.promise.catch(() => undefined)
  let waiting: ServerResponse | null = null
  let current: Invocation | null = null
  let count = 0
  const give = (): void => {
    if (waiting === null || current === null) return
    waiting.writeHead(200, {
      'content-type': 'application/json',
      'lambda-runtime-aws-request-id': current.id,
      'lambda-runtime-deadline-ms': String(Date.now() + timeoutSeconds * 1000),
      'lambda-runtime-invoked-function-arn': `arn:aws:lambda:eu-central-1:123456789012:function:${FUNCTION}`,
      'lambda-runtime-trace-id': 'Root=1-00000000-000000000000000000000000',
    })
    waiting.end(JSON.stringify(current.event))
    waiting = null
  }
  const fail = (error: Error): void => {
    ready.reject(error)
    current?.answered.reject(error)
    current = null
  }
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const call = `${request.method} ${String(request.url).replace(/invocation\/[^/]+\/(response|error)$/, 'invocation/ID/$1')}`
    if (call === 'GET /2018-06-01/runtime/invocation/next') {
      waiting = response
      ready.resolve()
      return give()
    }
    const text = await readText(request)
    if (call === 'POST /2018-06-01/runtime/init/error') fail(new Error(text))
    else if (request.url?.split('/')[4] !== current?.id) return void response.writeHead(400).end()
    else if (call === 'POST /2018-06-01/runtime/invocation/ID/response') current?.answered.resolve(JSON.parse(text))
    else if (call === 'POST /2018-06-01/runtime/invocation/ID/error') current?.answered.reject(new Error(text))
    else return void response.writeHead(404).end()
    current = null
    response.writeHead(202, { 'content-type': 'application/json' }).end('{"status":"OK"}')
  }
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  return {
    server,
    ready: ready.promise,
    fail,
    listen: async () => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return `127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    invoke: (event: APIGatewayProxyEventV2) => {
      if (current !== null) throw new Error('an instance handles one event at a time')
      count += 1
      current = {
        id: `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`,
        event,
        answered: Promise.withResolvers(),
      }
      const { promise } = current.answered
      give()
      return promise
    },
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

const FUNCTION = 'boxyard-test-rest'
