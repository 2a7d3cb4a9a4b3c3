import { isIPv4 } from 'node:net'
import { problemOf, ServiceError } from '../../../shared/errors.ts'
import type { PemPair } from './certificates.ts'
import { COOKIE_BYTES_MAX, cookiePage } from './cookie-page.ts'
import { type frontPaths, markOf } from './names.ts'

/** Settings of a Caddy configuration. */
export interface CaddySettings {
  paths: ReturnType<typeof frontPaths>
  /** Address and port to listen on with TLS. */
  host: string
  port: number
  /** Port for HTTP-01 challenges and redirects to HTTPS. Null for none. */
  httpPort: number | null
  /** The public port. Null for 443. */
  seenPort: number | null
  /** E-mail address of the ACME account. */
  email: string
  /** URL of an ACME directory. Null for Caddy's defaults. */
  directory: string | null
  /** PEM of the CA's root certificate, the content of `paths.roots`. Null for the host's trust store. */
  roots: string | null
  /** Certificates that take precedence over ACME for their names. */
  certificates: readonly PemPair[]
  /** URL that authorizes a certificate, called with `?domain=`. */
  askUrl: string
}

/** Renders the configuration of a generation. `mark`, which its socket reports, is equal for equal settings. */
export function caddyConfig(settings: CaddySettings, generation: number): { text: string; mark: string } {
  const textWith = (mark: string, socket: string): string => JSON.stringify(configOf(settings, { mark, socket }))
  const mark = markOf(textWith('', ''), settings.roots)
  return { text: textWith(mark, settings.paths.answers(generation)), mark }
}

// Caddy reads this only at its start and never reloads it, because a reload closes every WebSocket.
function configOf(settings: CaddySettings, own: { mark: string; socket: string }): object {
  const { host, port, httpPort, certificates } = settings
  const servers = {
    edge: {
      ...serverAt(host, port),
      tls_connection_policies: [{}],
      routes: [{ match: [{ expression: TOO_MANY_COOKIES }], handle: [cookieAnswer()] }, { handle: proxy(settings) }],
      errors: UNAVAILABLE,
    },
    ...(httpPort === null
      ? {}
      : { plain: { ...serverAt(host, httpPort), routes: [{ handle: [redirect(settings)] }] } }),
    answers: { ...BARE, listen: [`unix/${own.socket}`], routes: [{ handle: [answer(own.mark)] }] },
  }
  const pairs = certificates.map(({ certificate, key }) => ({ certificate, key }))
  return {
    admin: { disabled: true, config: { persist: false } },
    logging: { logs: { default: LOG } },
    storage: { module: 'file_system', root: '.' },
    apps: {
      // Caddy serves `http_port` without TLS, so it must differ from the HTTPS port.
      http: { http_port: httpPort ?? NO_PORT, https_port: port, grace_period: GRACE, servers },
      tls: { certificates: { load_pem: pairs }, automation: automation(settings) },
    },
  }
}

function serverAt(host: string, port: number): object {
  const address = host.includes(':') ? `tcp/[${host}]` : isIPv4(host) ? `tcp4/${host}` : `tcp/${host}`
  return {
    ...BARE,
    listen: [`${address}:${port}`],
    read_header_timeout: HANDSHAKE,
    idle_timeout: '75s',
    max_header_bytes: HEADER_BYTES_MAX,
  }
}

/** Proxies to HAProxy unchanged. */
function proxy({ paths }: CaddySettings): object[] {
  return [
    // Removes Caddy's own header. The header of a box is added afterwards.
    { handler: 'headers', response: { delete: ['Server'] } },
    {
      handler: 'reverse_proxy',
      upstreams: [{ dial: `unix/${paths.socket}` }],
      // Flushes at once, as -1, but unlike that cancels the request when its client disconnects.
      flush_interval: -2,
      // Retries while HAProxy restarts.
      load_balancing: { try_duration: '10s', try_interval: '50ms' },
      transport: {
        protocol: 'http',
        versions: ['1.1'],
        compression: false,
        dial_timeout: '3s',
        // Below HAProxy's keep-alive timeout.
        keep_alive: { idle_timeout: '60s', max_idle_conns_per_host: 256 },
      },
    },
  ]
}

function redirect({ seenPort }: CaddySettings): object {
  const port = seenPort === null ? '' : `:${seenPort}`
  const location = `https://{http.request.host}${port}{http.request.uri}`
  return { handler: 'static_response', status_code: 308, headers: { Location: [location], ...NO_SNIFFING } }
}

/** Answers a request with more cookies than HAProxy reads, because no later request could ask to delete them. */
function cookieAnswer(): object {
  const { headers, body } = cookiePage()
  const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
  return {
    handler: 'static_response',
    status_code: 431,
    headers: lists,
    body: body.replaceAll('{', '\\{'),
    close: true,
  }
}

/** Answers in the format of HAProxy's `show info` (admin.ts). */
function answer(mark: string): object {
  return { handler: 'static_response', body: `Pid: {env.PID}\ndescription: ${mark}\n` }
}

function automation({ host, port, httpPort, email, directory, roots, paths, askUrl }: CaddySettings): object {
  const challenges = {
    bind_host: host,
    http: httpPort === null ? { disabled: true } : { alternate_port: httpPort },
    'tls-alpn': { alternate_port: port },
  }
  const trusted = roots === null ? {} : { trusted_roots_pem_files: [paths.roots] }
  const issuers =
    directory === null
      ? ['acme', 'zerossl'].map((module) => ({ module, email, challenges, ...trusted }))
      : [{ module: 'acme', ca: directory, email, challenges, ...trusted }]
  return { policies: [{ on_demand: true, issuers }], on_demand: { ask: askUrl, rate_limit: RATE } }
}

const NO_SNIFFING = { 'X-Content-Type-Options': ['nosniff'] }
const BARE = { automatic_https: { disable: true }, protocols: ['h1', 'h2'] }
const NO_PORT = 1
/** More than browsers store of cookies for a domain, 180 of 4 KiB. */
const HEADER_BYTES_MAX = 768 * 1024
const TOO_MANY_COOKIES = `size({http.request.header.Cookie}) > ${COOKIE_BYTES_MAX}`
/** Time that open connections get when a new process takes over. */
const GRACE = '10s'
/** Timeout of a request's head, and of a handshake, which may wait for a certificate. */
const HANDSHAKE = '30s'
/** Let's Encrypt allows 300 orders in three hours. */
const RATE = { interval: '1h', burst: 100 }
// Logs only certificate events. Other loggers would write URLs with their secrets, including `askUrl`.
const LOG = {
  writer: { output: 'file', filename: 'caddy.log', roll_size_mb: 10, roll_keep: 3 },
  include: ['tls.obtain', 'tls.renew', 'tls.issuance'],
}
const UNAVAILABLE = {
  routes: [
    {
      handle: [
        {
          handler: 'static_response',
          status_code: 503,
          headers: {
            'Content-Type': ['application/problem+json'],
            'Cache-Control': ['no-store'],
            ...NO_SNIFFING,
          },
          body: JSON.stringify(
            problemOf(
              new ServiceError('agent_unavailable', 'The edge does not answer.'),
              'req_{http.request.uuid}',
              '/.boxyard/problems',
            ),
          ),
        },
      ],
    },
  ],
}
