import { imageFault } from './faults.ts'

/** Origin of a registry, and the origins allowed at any address during the pull. */
export interface RegistryOrigins {
  origin: string
  named: ReadonlySet<string>
}

/**
 * Returns the origin of a registry as references name it. Uses `http:` only if the operator has `named` that origin. A registry that is not
 * named must not redirect to one that is, since it would reach private addresses through this host.
 */
export function resolveRegistryOrigins(registry: string, named: ReadonlySet<string>): RegistryOrigins {
  const host = registry === 'docker.io' ? HUB_HOST : registry
  for (const scheme of ['https', 'http']) {
    if (!URL.canParse(`${scheme}://${host}`)) throw imageFault('the registry has no such address')
    const { origin } = new URL(`${scheme}://${host}`)
    if (named.has(origin)) return { origin, named }
  }
  return { origin: new URL(`https://${host}`).origin, named: new Set() }
}

const HUB_HOST = 'registry-1.docker.io'
