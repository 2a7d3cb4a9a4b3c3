/** Returns the port and path of an address of the program's own machine, or null for other addresses. */
export function boxPortOf(address: string): { port: number; path: string } | null {
  const { hostname, port, protocol, pathname, search, hash } = new URL(address)
  if (!OWN_MACHINE.test(hostname)) return null
  return { port: Number(port || (protocol === 'https:' ? 443 : 80)), path: `${pathname}${search}${hash}` }
}

/** Names and addresses as `URL` writes them. */
const OWN_MACHINE = /^((.*\.)?localhost\.?|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/
