import { type IncomingHttpHeaders, request } from 'node:http'

/** The response of a box URL. */
export interface UrlAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

export interface UrlRequest {
  method?: string
  headers?: Record<string, string>
  /** Sent as a bearer token. */
  token?: string
  body?: string
  /** Port of another edge on this host to send the request through. */
  through?: number
}

/** Requests a URL from the edge of this host without DNS. Rejects if the connection fails. */
export function askUrl(
  url: string,
  { method = 'GET', headers = {}, token, body, through }: UrlRequest = {},
): Promise<UrlAnswer> {
  const { host, port, pathname, search } = new URL(url)
  const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...{
        host: '127.0.0.1',
        port: through ?? port,
        method,
        path: `${pathname}${search}`,
        agent: false,
        timeout: 60_000,
      },
      headers: { host, ...bearer, ...headers },
    })
    outgoing.once('error', reject)
    outgoing.once('timeout', () => outgoing.destroy(new Error(`No answer from ${url} in 60 s`)))
    outgoing.once('response', (incoming) => {
      const pieces: Buffer[] = []
      incoming.on('data', (piece: Buffer) => pieces.push(piece))
      incoming.once('error', reject)
      incoming.once('end', () => {
        const text = Buffer.concat(pieces).toString()
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text })
      })
    })
    outgoing.end(body)
  })
}
