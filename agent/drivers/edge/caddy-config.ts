import { isIPv4 } from 'node:net'
import { problemOf, ServiceError } from '../../../shared/errors.ts'
import type { PemPair } from './certificates.ts'
import { type frontPaths, markOf } from './names.ts'

/** What the configuration of one Caddy follows from. */
export interface CaddySettings {
  paths: ReturnType<typeof frontPaths>
  /** Address and port to listen on with TLS. */
  host: string
  port: number
  /** Of the same address: answers the CA and leads browsers to HTTPS; null: nothing listens there. */
  httpPort: number | null
  /** The port that clients know; null: that of HTTPS. */
  seenPort: number | null
  /** Whom the CA writes to. */
  email: string
  /** URL of an ACME directory; null: those that Caddy takes by itself. */
  directory: string | null
  /** PEM of what vouches for the directory, as `paths.roots` holds it; null: what the host trusts. */
  roots: string | null
  /** Served to the names they are for, for which no CA is asked then. */
  certificates: readonly PemPair[]
  /** Where to ask whether a name may get a certificate, `?domain=` added. */
  askUrl: string
}

/** The text for the process of a generation; `mark`, which its socket tells, is the same for the same settings. */
export function caddyConfig(settings: CaddySettings, generation: number): { text: string; mark: string } {
  const textWith = (mark: string, socket: string): string => JSON.stringify(configOf(settings, { mark, socket }))
  const mark = markOf(textWith('', ''), settings.roots)
  return { text: textWith(mark, settings.paths.answers(generation)), mark }
}

// It changes with a start alone: at any change of it Caddy closes every WebSocket.
function configOf(settings: CaddySettings, own: { mark: string; socket: string }): object {
  const { host, port, httpPort, certificates } = settings
  const servers = {
    edge: {
      ...serverAt(host, port),
      tls_connection_policies: [{}],
      routes: [{ handle: proxy(settings) }],
      errors: AWAY,
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
      // What listens on the port for HTTP would do so without TLS.
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
    max_header_bytes: 64 * 1024,
  }
}

/** To HAProxy, as it comes. */
function proxy({ paths }: CaddySettings): object[] {
  return [
    // Its own; that of the box is added afterwards.
    { handler: 'headers', response: { delete: ['Server'] } },
    {
      handler: 'reverse_proxy',
      upstreams: [{ dial: `unix/${paths.socket}` }],
      // Written as it comes. With -1 a request would go on when its client has left.
      flush_interval: -2,
      // While HAProxy is started again.
      load_balancing: { try_duration: '10s', try_interval: '50ms' },
      transport: {
        protocol: 'http',
        versions: ['1.1'],
        compression: false,
        dial_timeout: '3s',
        // HAProxy waits longer than that for the next request.
        keep_alive: { idle_timeout: '60s', max_idle_conns_per_host: 256 },
      },
    },
  ]
}

function redirect({ seenPort }: CaddySettings): object {
  const port = seenPort === null ? '' : `:${seenPort}`
  const location = `https://{http.request.host}${port}{http.request.uri}`
  return { handler: 'static_response', status_code: 308, headers: { Location: [location] } }
}

/** As HAProxy tells of itself (edge-admin.ts). */
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

const BARE = { automatic_https: { disable: true }, protocols: ['h1', 'h2'] }
const NO_PORT = 1
/** For those who have it open when another configuration takes its place. */
const GRACE = '10s'
/** For the head of a request, and for a handshake, in which a certificate may be got. */
const HANDSHAKE = '30s'
/** Let's Encrypt takes 300 orders in three hours. */
const RATE = { interval: '1h', burst: 100 }
// Of the certificates alone: what else it would log are addresses with all that is in them, and the URL that it asks.
const LOG = {
  writer: { output: 'file', filename: 'caddy.log', roll_size_mb: 10, roll_keep: 3 },
  include: ['tls.obtain', 'tls.renew', 'tls.issuance'],
}
const AWAY = {
  routes: [
    {
      handle: [
        {
          handler: 'static_response',
          status_code: 503,
          headers: { 'Content-Type': ['application/problem+json'], 'Cache-Control': ['no-store'] },
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
