import { type HttpHandler, splitTarget } from '../../shared/http/messages.ts'

/** What is served at the address for metrics: `GET /metrics`, and nothing else. */
export function createMetricsHandler(page: { type: string; render(): Promise<string> }): HttpHandler {
  return async ({ method, target }) => {
    if (splitTarget(target).pathname !== '/metrics') return plain(404, 'The figures are at /metrics.\n')
    if (method !== 'GET') return { ...plain(405, 'GET alone.\n'), headers: { ...TEXT, allow: 'GET' } }
    return {
      status: 200,
      headers: { 'content-type': page.type, 'cache-control': 'no-store' },
      body: await page.render(),
    }
  }
}

function plain(status: number, body: string) {
  return { status, headers: TEXT, body }
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' }
