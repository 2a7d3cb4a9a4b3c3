import { request } from 'undici'

export interface VisitOptions {
  method?: string
  headers?: Record<string, string>
  /** Sent as a form. */
  form?: Record<string, string>
  /** Sent as `Authorization: Bearer`. */
  token?: string
  /** Port of another edge on this host to send the request through. */
  through?: number
}

/** The response of a box URL, without following redirects. */
export interface Visited {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

/** Sends one request to an edge on this machine without DNS. */
export async function visit(
  url: string,
  { method, headers = {}, form, token, through }: VisitOptions = {},
): Promise<Visited> {
  const { host, port, pathname, search } = new URL(url)
  const body = form === undefined ? undefined : new URLSearchParams(form).toString()
  const answer = await request(`http://127.0.0.1:${through ?? port}${pathname}${search}`, {
    method: (method ?? (form === undefined ? 'GET' : 'POST')) as 'GET',
    headers: {
      host,
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
    headersTimeout: 60_000,
  })
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
}

/** A person's browser. It keeps cookies by host and requests pages. */
export interface Visitor {
  visit(url: string, options?: VisitOptions): Promise<Visited>
  /** Opens a page and signs in with `token`. Returns the page that follows and its URL. */
  signIn(url: string, token: string): Promise<Visited & { url: string }>
}

/** Creates a browser without cookies. `through` is the port of the edge for all its requests. */
export function createVisitor({ through }: { through?: number } = {}): Visitor {
  const jars = new Map<string, Map<string, string>>()
  const visitor: Visitor = {
    visit: async (url, options = {}) => {
      const { host } = new URL(url)
      const jar = jars.get(host) ?? new Map<string, string>()
      jars.set(host, jar)
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const headers = { accept: 'text/html', ...(cookie === '' ? {} : { cookie }), ...options.headers }
      const answer = await visit(url, { ...(through === undefined ? {} : { through }), ...options, headers })
      for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
        const [, name = '', value = '', rest = ''] = /^([^=]*)=([^;]*)(.*)$/.exec(line) ?? []
        if (rest.includes('Max-Age=0;')) jar.delete(name)
        else jar.set(name, value)
      }
      return answer
    },
    signIn: async (url, token) => {
      const led = await visitor.visit(url)
      const form = new URL(String(led.headers['location']))
      const shown = await visitor.visit(form.href)
      const action = /<form method="post" action="([^"]*)"/.exec(shown.text)?.[1] ?? ''
      const posted = await visitor.visit(new URL(action.replaceAll('&amp;', '&'), form).href, {
        form: { ...Object.fromEntries(form.searchParams), token },
      })
      const begun = await visitor.visit(String(posted.headers['location']))
      const target = /http-equiv="refresh" content="0; url=([^"]*)"/.exec(begun.text)?.[1] ?? '/'
      const page = new URL(target.replaceAll('&amp;', '&'), url).href
      return { ...(await visitor.visit(page)), url: page }
    },
  }
  return visitor
}
