/**
 * Returns the accounting key of an address. This is an IPv4 address, or the /64 of an IPv6 address, because one host has all of it. A peer
 * without an address, such as a unix socket, has `""`.
 */
export function sourceKey(address: string | undefined): string {
  if (address === undefined) return ''
  const mapped = MAPPED.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!address.includes(':')) return address
  const [head = '', tail] = (address.toLowerCase().split('%')[0] ?? '').split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  const whole = [...groups, ...Array<string>(missing).fill('0'), ...(tail ? tail.split(':') : [])]
  return `${whole.slice(0, 4).join(':')}::/64`
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
