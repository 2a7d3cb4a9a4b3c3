import { imageFault } from './faults.ts'

/** Where a registry is asked, and which origins may be at any address while it is. */
export interface RegistryPlace {
  origin: string
  named: ReadonlySet<string>
}

/**
 * The place of a registry as references name it; over `http:` only if the operator has `named` it so. One that is not named
 * can lead to none that is: whoever made it would reach those through this host.
 */
export function findRegistryPlace(registry: string, named: ReadonlySet<string>): RegistryPlace {
  const host = registry === 'docker.io' ? HUB_HOST : registry
  for (const scheme of ['https', 'http']) {
    if (!URL.canParse(`${scheme}://${host}`)) throw imageFault('the registry has no such address')
    const { origin } = new URL(`${scheme}://${host}`)
    if (named.has(origin)) return { origin, named }
  }
  return { origin: new URL(`https://${host}`).origin, named: new Set() }
}

const HUB_HOST = 'registry-1.docker.io'
