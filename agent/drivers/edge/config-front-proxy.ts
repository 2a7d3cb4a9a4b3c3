/** How what stands in front of HAProxy reaches it, and asks whether a name may get a certificate. */
export interface FrontProxySocket {
  /** Path of the socket to listen at, in place of an address. */
  socket: string
  /** The only one, beside root, who comes in there: he is believed when he says for whom he asks. */
  user: string
  /** The port that is asked at, and the SHA-256 of the path, hexadecimal. */
  asks: { port: number; digest: string }
}

/** The line by which HAProxy listens there. */
export function frontProxyBind({ socket, user }: FrontProxySocket): string {
  return `  bind 'unix@${socket}' mode 600 user ${user}`
}

/** Who asks: what is believed adds its client's address after whatever that one said. */
export function sourceRules({
  door,
  trustedProxies,
}: {
  door: FrontProxySocket | null
  trustedProxies: readonly string[]
}) {
  const rule = '  http-request set-src req.hdr_ip(x-forwarded-for,-1)'
  if (door) return [rule]
  return trustedProxies.length === 0 ? [] : [`${rule} if { fc_src -m ip ${trustedProxies.join(' ')} }`]
}

/** What nobody but us may say, whoever is asked. */
export function forwardingRules({ scheme }: { scheme: 'http' | 'https' }): string[] {
  return [
    `  http-request set-header x-forwarded-for %[src]`,
    `  http-request set-header x-forwarded-proto ${scheme}`,
    `  http-request set-header x-forwarded-host %[req.fhdr(host),lower]`,
    // Hop by hop: only what a WebSocket needs is passed on.
    '  http-request del-header connection',
  ]
}

/** Whoever knows the path is answered by the agent, which is waited for. */
export function frontProxySections({ asks }: FrontProxySocket): string[] {
  return [
    'frontend asks',
    `  bind ${ASK_HOST}:${asks.port}`,
    `  http-request return status 404 unless { path,sha2(256),hex,lower -m str ${asks.digest} }`,
    '  http-request set-path /',
    '  http-request lua.boxyard_await',
    '  default_backend asks',
    'backend asks',
    '  server agent unix@/asks.sock',
  ]
}

/** Of loopback, and one from which nobody connects, so that no connection takes its port. */
export const ASK_HOST = '127.66.79.88'
