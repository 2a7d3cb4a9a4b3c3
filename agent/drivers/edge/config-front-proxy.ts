import { ownErrors } from './pages.ts'

/** The sockets between HAProxy and the proxy in front of it. */
export interface FrontProxySocket {
  /** Path of the socket to listen on, in place of an address. */
  socket: string
  /** The only user, beside root, that can connect. The edge trusts its `X-Forwarded-For`. */
  user: string
  /** Port of the certificate requests, and the SHA-256 of their secret path, hexadecimal. */
  asks: { port: number; digest: string }
}

/** Returns the `bind` line of the socket. */
export function frontProxyBind({ socket, user }: FrontProxySocket): string {
  return `  bind 'unix@${socket}' mode 600 user ${user}`
}

/**
 * Sets the client address from the last entry of `X-Forwarded-For`, which a trusted proxy, or the edge of another cell, has appended. At an
 * IPv6 address, IPv4 clients have mapped addresses (RFC 4291, 2.5.5.2), which this converts to IPv4.
 */
export function sourceRules({
  host,
  frontProxy,
  trustedProxies,
  hasCells,
}: {
  host: string
  frontProxy: FrontProxySocket | null
  trustedProxies: readonly string[]
  hasCells: boolean
}) {
  const rule = '  http-request set-src req.hdr_ip(x-forwarded-for,-1)'
  if (frontProxy) return [rule]
  return [
    ...(host.includes(':') ? [`  http-request set-src src,regsub(^::ffff:,)`] : []),
    ...(trustedProxies.length === 0 ? [] : [`${rule} if { fc_src -m ip ${trustedProxies.join(' ')} }`]),
    ...(hasCells ? [`${rule} if is_led`] : []),
  ]
}

/** Overwrites the headers that only the edge may set. */
export function forwardingRules({ scheme }: { scheme: 'http' | 'https' }): string[] {
  return [
    `  http-request set-header x-forwarded-for %[src]`,
    `  http-request set-header x-forwarded-proto ${scheme}`,
    `  http-request set-header x-forwarded-host %[req.fhdr(host),lower]`,
    // A hop-by-hop header, set again for WebSockets only.
    '  http-request del-header connection',
  ]
}

/** Forwards certificate requests with the secret path to the agent, waiting while it restarts. */
export function frontProxySections({ asks }: FrontProxySocket): string[] {
  return [
    'frontend asks',
    `  bind ${ASK_HOST}:${asks.port}`,
    ...ownErrors(),
    `  http-request return status 404 hdr x-content-type-options nosniff unless { path,sha2(256),hex,lower -m str ${asks.digest} }`,
    '  http-request set-path /',
    '  http-request lua.boxyard_await',
    '  default_backend asks',
    'backend asks',
    '  server agent unix@/asks.sock',
  ]
}

/** A loopback address that is never the source of a connection, so that no connection takes its port. */
export const ASK_HOST = '127.66.79.88'
