/** Fields of a created or changed resource that a command prints for people. `info` and `-o json` print all. */
export interface Brief {
  /** Fields that are printed if they have a value. `a.b` is field `b` of `a`, and prints as `b`. */
  fields: readonly string[]
  /** The operation that reads the resource, if the answer is an operation that still runs. */
  get: 'getBox' | 'getVolume' | 'getService'
}

const BOX = ['name', 'status', 'state.message', 'url']
/** Brief of a box. */
export const BOX_BRIEF: Brief = { fields: BOX, get: 'getBox' }
/** Brief of a published box. */
export const URL_BRIEF: Brief = { fields: [...BOX, 'url_settings.auth', 'port', 'published_domains'], get: 'getBox' }
/** Brief of a leased box. */
export const LEASE_BRIEF: Brief = { fields: [...BOX, 'lease_until'], get: 'getBox' }
/** Brief of a box whose volumes have changed. */
export const MOUNT_BRIEF: Brief = { fields: ['name', 'status', 'data_mounts'], get: 'getBox' }
/** Brief of a data volume. */
export const VOLUME_BRIEF: Brief = { fields: ['name', 'size_gb', 'tags'], get: 'getVolume' }
/** Brief of a service. */
export const SERVICE_BRIEF: Brief = { fields: ['name', 'state', 'message', 'active_url'], get: 'getService' }

/** Returns the fields of a brief that have a value. A pure function. */
export function briefOf({ fields }: Brief, resource: unknown): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const field of fields) {
    const [outer = '', inner] = field.split('.')
    const holder = inner === undefined ? resource : fieldOf(resource, outer)
    const value = fieldOf(holder, inner ?? outer)
    if (hasValue(value)) found[inner ?? outer] = value
  }
  return found
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}

function hasValue(value: unknown): boolean {
  if (value === null || value === undefined) return false
  return typeof value !== 'object' || Object.keys(value).length > 0
}
