/** Connections at once for one address of the service, unless `BOXYARD_CONNECTIONS_MAX` overrides it. */
export const CONNECTIONS_MAX_DEFAULT = { fallback: 4096, min: 16, max: 65_536 } as const

/**
 * Returns the maximum connections of one listener: `wanted`, but at most a fifth of the descriptors that the process can open. Half of the
 * descriptors thus remain for its own work. `limits` is the text of /proc/self/limits.
 */
export function connectionsWithin(wanted: number, limits: string): number {
  const descriptors = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return descriptors === undefined ? wanted : Math.min(wanted, Math.floor(Number(descriptors) / 5))
}
