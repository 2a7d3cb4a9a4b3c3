/**
 * The areas of each layer, lowest level first. An area imports only itself and areas of lower levels (ARCHITECTURE.md#layers).
 * `.dependency-cruiser.mjs` generates its rules from this table, and tests/architecture generates a violation of each.
 */
export const AREAS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'agent/core': [
    ['common'],
    ['access', 'events', 'fleet', 'snapshots'],
    ['reconcile'],
    ['boxes'],
    ['exec', 'files', 'operations', 'volumes'],
    ['backups', 'bases', 'services'],
    ['edge', 'health'],
  ],
  'agent/drivers': [
    ['host'],
    ['backups', 'bases', 'edge', 'exec', 'fleet', 'metrics', 'network', 'registry', 'store'],
    ['boxes'],
    ['files', 'pods'],
    ['pool'],
  ],
  'agent/handlers': [
    ['common'],
    ['access', 'events', 'exec', 'health', 'operations', 'services', 'snapshots'],
    ['files'],
    ['bases', 'boxes'],
    ['edge', 'volumes'],
    ['backups'],
  ],
  'agent/ports': [['backups', 'bases', 'boxes', 'edge', 'files', 'fleet', 'host'], ['pool', 'store'], ['exec']],
  'agent/lib': [['syscalls'], ['disk', 'kube', 'mounts', 'output', 'systemd', 'threads'], ['tar']],
  shared: [['http', 'schemas'], ['auth', 'examples', 'routes'], ['openapi']],
}

export interface AreaRule {
  layer: string
  area: string
  allowed: string[]
  forbidden: string[]
}

/** Returns every area with the areas of its layer that it may not import. Omits areas that may import all others. */
export function forbiddenAreas(): AreaRule[] {
  return Object.entries(AREAS)
    .flatMap(([layer, levels]) =>
      levels.flatMap((level, index) =>
        level.map((area) => {
          const allowed = [area, ...levels.slice(0, index).flat()]
          return { layer, area, allowed, forbidden: levels.flat().filter((each) => !allowed.includes(each)) }
        }),
      ),
    )
    .filter(({ forbidden }) => forbidden.length > 0)
}
