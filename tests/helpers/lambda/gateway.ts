import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda'
import { type FunctionPackage, type Instance, startInstance } from './instance.ts'

/** A deployed function behind an HTTP API. */
export interface Gateway {
  url: string
  /** Output lines of all instances. */
  said: readonly string[]
  /** Returns the number of instances started so far. */
  started(): number
  /** Deploys another environment. New instances get all later events. Earlier instances end once they have answered. */
  deploy(environment: Record<string, string>): Promise<void>
  close(): Promise<void>
}

/**
 * Serves a function as API Gateway and Lambda do. Each request becomes an event of payload 2.0. An idle instance handles it, or a new one
 * if none is idle. A function's error becomes a 500, as API Gateway does. A WebSocket handshake is a request like any other.
 */
export async function openGateway(packed: FunctionPackage, environment: Record<string, string>): Promise<Gateway> {
  const said: string[] = []
  const launch = (variables: Record<string, string>): Promise<Instance> =>
    startInstance(packed, { environment: variables, onLine: (line) => said.push(line) })
  const fleets = [createFleet(() => launch(environment))]
  const server = createServer((request, response) => {
    const fleet = fleets.at(-1)
    if (fleet === undefined) throw new Error('no fleet')
    serve(request, response, fleet).catch((error: unknown) => {
      said.push(String(error))
      response.writeHead(500, { 'content-type': 'application/json' }).end('{"message":"Internal Server Error"}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    said,
    started: () => fleets.reduce((sum, fleet) => sum + fleet.started(), 0),
    deploy: async (variables) => {
      const before = fleets.at(-1)
      fleets.push(createFleet(() => launch(variables)))
      await before?.retire()
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      for (const fleet of fleets) await fleet.retire()
    },
  }
}

type Fleet = ReturnType<typeof createFleet>

/** Creates the instances of one deployment. */
function createFleet(launch: () => Promise<Instance>) {
  const idle: Instance[] = []
  const all: Instance[] = []
  let busy = 0
  let isRetired = false
  const closeAll = async (): Promise<void> => {
    await Promise.all(all.map((instance) => instance.close()))
  }
  const take = async (): Promise<Instance> => {
    const free = idle.pop()
    if (free !== undefined) return free
    const instance = await launch()
    all.push(instance)
    await instance.ready
    return instance
  }
  const drained = Promise.withResolvers<void>()
  return {
    started: () => all.length,
    invoke: async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
      busy += 1
      try {
        const instance = await take()
        const result = await instance.invoke(event)
        idle.push(instance)
        return result
      } finally {
        busy -= 1
        if (isRetired && busy === 0) drained.resolve()
      }
    },
    /** Ends the instances once they have answered. */
    retire: async () => {
      isRetired = true
      if (busy === 0) drained.resolve()
      await drained.promise
      await closeAll()
    },
  }
}

async function serve(request: IncomingMessage, response: ServerResponse, fleet: Fleet): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const {
    statusCode = 200,
    headers = {},
    cookies,
    body = '',
    isBase64Encoded,
  } = await fleet.invoke(eventOf(request, Buffer.concat(chunks)))
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, String(value))
  if (cookies !== undefined) response.setHeader('set-cookie', cookies)
  const bytes = Buffer.from(body, isBase64Encoded === true ? 'base64' : 'utf8')
  if (!response.hasHeader('content-length')) response.setHeader('content-length', bytes.length)
  response.writeHead(statusCode).end(bytes)
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html, version 2.0. */
function eventOf(request: IncomingMessage, body: Buffer): APIGatewayProxyEventV2 {
  const { method = 'GET', url = '/' } = request
  const [rawPath = '/', rawQueryString = ''] = url.split(/\?(.*)/s)
  const { cookie, ...others } = request.headers
  const headers = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, [value].flat().join(',')]))
  const isText = /^(text\/|application\/(json|javascript|xml))/.test(headers['content-type'] ?? '')
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath,
    rawQueryString,
    headers,
    ...(cookie === undefined ? {} : { cookies: cookie.split('; ') }),
    requestContext: {
      ...{ accountId: '123456789012', apiId: 'test', domainName: 'test.execute-api', domainPrefix: 'test' },
      ...{ requestId: 'test', routeKey: '$default', stage: '$default', time: '', timeEpoch: Date.now() },
      http: {
        ...{ method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1' },
        userAgent: headers['user-agent'] ?? '',
      },
    },
    ...(body.length === 0 ? {} : { body: body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: body.length > 0 && !isText,
  }
}
