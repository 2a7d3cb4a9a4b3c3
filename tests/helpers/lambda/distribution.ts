import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  request as send,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { runInNewContext } from 'node:vm'
import type { Template } from './packed.ts'
import type { WebBucket } from './web-bucket.ts'

/** A distribution in front of a bucket and an API. */
export interface Distribution {
  url: string
  /** Requests forwarded to the API, as method and path. */
  asked: readonly string[]
  close(): Promise<void>
}

/** The supported part of a distribution's cache behaviour. */
interface Behaviour {
  PathPattern?: string
  TargetOriginId: string
  AllowedMethods?: string[]
}

/**
 * Serves a stack's distribution over plain HTTP, as its template describes. Supports the path patterns, the function that rewrites paths,
 * and the added headers. Caches nothing.
 */
export async function openDistribution(
  template: Template,
  { bucket, apiUrl }: { bucket: WebBucket; apiUrl: string },
): Promise<Distribution> {
  const asked: string[] = []
  const { behaviourOf, rewrite, headers } = readDistribution(template)
  const answerFile = async (uri: string, response: ServerResponse): Promise<void> => {
    for (const [name, value] of headers) response.setHeader(name, value)
    const file = await bucket.read(uri.slice(1))
    if (file !== null)
      return void response
        .writeHead(200, { 'content-type': file.type, 'cache-control': file.cacheControl })
        .end(file.bytes)
    // S3 hides missing files from clients that cannot list the bucket.
    response.writeHead(403, { 'content-type': 'application/xml' }).end('<Error><Code>AccessDenied</Code></Error>')
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '/', 'http://distribution')
    const { TargetOriginId, AllowedMethods = ['GET', 'HEAD'] } = behaviourOf(pathname)
    if (!AllowedMethods.includes(request.method ?? '')) return void response.writeHead(403).end()
    if (TargetOriginId === 'console') return answerFile(rewrite(pathname), response)
    asked.push(`${request.method} ${pathname}`)
    await forward(request, response, apiUrl)
  }
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Reads from a template how a distribution handles a request. */
export function readDistribution(template: Template) {
  const properties = (name: string) => template.Resources[name]?.Properties ?? {}
  const { DefaultCacheBehavior, CacheBehaviors } = properties('ConsoleDistribution')['DistributionConfig'] as {
    DefaultCacheBehavior: Behaviour
    CacheBehaviors: Behaviour[]
  }
  const code = `${String(properties('ConsolePaths')['FunctionCode'])}; handler`
  const handler = runInNewContext(code) as (event: { request: { uri: string } }) => { uri: string }
  return {
    behaviourOf: (path: string): Behaviour =>
      CacheBehaviors.find(({ PathPattern = '' }) => patternOf(PathPattern).test(path)) ?? DefaultCacheBehavior,
    rewrite: (uri: string): string => handler({ request: { uri } }).uri,
    headers: headersOf(properties('ConsoleHeaders')['ResponseHeadersPolicyConfig'] as HeadersConfig),
  }
}

interface HeadersConfig {
  SecurityHeadersConfig: {
    ContentSecurityPolicy: { ContentSecurityPolicy: { 'Fn::Join': [string, (string | { 'Fn::Sub': string })[]] } }
    FrameOptions: { FrameOption: string }
    ReferrerPolicy: { ReferrerPolicy: string }
  }
  CustomHeadersConfig: { Items: { Header: string; Value: string }[] }
}

/** Returns the headers of a policy, for the host name `boxyard.example`. */
function headersOf({
  SecurityHeadersConfig: security,
  CustomHeadersConfig: custom,
}: HeadersConfig): Map<string, string> {
  const [between, parts] = security.ContentSecurityPolicy.ContentSecurityPolicy['Fn::Join']
  const policy = parts.map((part) => (typeof part === 'string' ? part : part['Fn::Sub'])).join(between)
  return new Map([
    ['content-security-policy', policy.replaceAll('${DomainName}', CONSOLE_HOST)],
    ['x-content-type-options', 'nosniff'],
    ['x-frame-options', security.FrameOptions.FrameOption],
    ['referrer-policy', security.ReferrerPolicy.ReferrerPolicy],
    ...custom.Items.map(({ Header, Value }): [string, string] => [Header, Value]),
  ])
}

/** https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/DownloadDistValuesCacheBehavior.html#DownloadDistValuesPathPattern */
function patternOf(pattern: string): RegExp {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`)
}

/** Forwards a request with all its headers, including `Host`, and returns the answer. */
async function forward(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
  const headers: IncomingHttpHeaders = request.headers
  const onward = send(new URL(request.url ?? '/', url), { method: request.method, headers })
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    onward.once('response', resolve).once('error', reject),
  )
  await pipeline(request, onward)
  const answer = await answered
  response.writeHead(answer.statusCode ?? 502, answer.headers)
  await pipeline(answer, response)
}

export const CONSOLE_HOST = 'boxyard.example'
