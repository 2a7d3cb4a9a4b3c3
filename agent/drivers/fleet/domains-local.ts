import type { Domains } from '../../ports/fleet/domains.ts'

/** Creates the domains of a host without a fleet. It keeps nothing, since only the database decides there which domains are taken. */
export function createLocalDomains(): Domains {
  return {
    find: () => null,
    read: async () => null,
    ofBox: async () => NONE,
    claim: async () => undefined,
    release: async () => undefined,
    onChange: () => () => undefined,
  }
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>()
