import { BlockList, isIP, isIPv6 } from 'node:net'
import { type HeaderMap, headerOf } from './messages.ts'

/** Determines where a request or connection comes from, behind trusted proxies. */
export interface SourceAddresses {
  /** Returns true for the address of a trusted proxy. */
  isProxy(address: string): boolean
  /**
   * Returns the address of the client. This is the peer, or behind a trusted proxy the last address of `X-Forwarded-For` that is not a
   * proxy.
   */
  clientOf(peer: string, headers: HeaderMap): string
}

/** Trusts proxies at these addresses and networks, such as 192.0.2.1 or 10.0.0.0/8. */
export function createSourceAddresses(proxies: readonly string[]): SourceAddresses {
  const trusted = new BlockList()
  for (const network of proxies) {
    const [address = '', bits] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) trusted.addAddress(address, family)
    else trusted.addSubnet(address, Number(bits), family)
  }
  const isProxy = (address: string): boolean =>
    proxies.length > 0 && isIP(address) !== 0 && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  return {
    isProxy,
    clientOf: (peer, headers) => {
      if (!isProxy(peer)) return peer
      const chain = (headerOf(headers, 'x-forwarded-for') ?? '').split(',').map((each) => each.trim())
      const client = chain.findLast((address) => !isProxy(address))
      return client !== undefined && isIP(client) !== 0 ? client : peer
    },
  }
}

/** Tests whether `text` is an address or a network. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  const maxBits = family === 4 ? 32 : 128
  return (
    family !== 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits))
  )
}

/** The error text for an invalid entry of a list. */
export const NETWORKS_EXPECTED = 'addresses or networks such as 192.0.2.1,10.0.0.0/8,2001:db8::/32'
