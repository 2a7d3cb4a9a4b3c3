import type { BoxLimits } from '../../../agent/ports/boxes/limits.ts'
import type { BoxMount, BoxSpec, DetachedEnd } from '../../../agent/ports/boxes/runtime.ts'
import type { EdgeGrant, EdgeRoute } from '../../../agent/ports/edge/edge.ts'

/** The state of an imagined host, which outlives agents. Drivers replace entries instead of changing them, so that a copy is cheap. */
export interface ImaginedWorld {
  poolId: string
  /** By name. */
  pool: Map<string, ImaginedSubvolume>
  /** The project of each subvolume that ever existed. Null for the deployment. */
  owners: Map<string, string | null>
  /** Largest number of bytes that a project can store. Absent if unlimited. */
  bounds: Map<string, number>
  /** Running boxes by id, including forks. */
  boxes: Map<string, ImaginedBox>
  /** Detached commands by id, until an agent forgets them. */
  commands: Map<string, ImaginedCommand>
  /** Commands with output files, as `box/command`. */
  outputs: Set<string>
  /** By host name. */
  routes: Map<string, EdgeRoute>
  /** By credential and scope. */
  grants: Map<string, EdgeGrant>
  /** Objects of the backup store by name. */
  objects: Map<string, Uint8Array>
  /** Number of boxes started so far, which is the pid of the last one. */
  starts: number
  /** Increases with each effect. */
  effects: number
  /** Descriptions of actions that an agent must never perform on a host. */
  violations: string[]
}

/** A subvolume. `content` represents its files. */
export interface ImaginedSubvolume {
  readonly content: string
  readonly origin: string
  readonly isReadOnly: boolean
  readonly quotaBytes: number | null
  /** Its bytes on the disk. A copy shares them. */
  readonly kept: readonly KeptBytes[]
}

/** Bytes from one write. */
export interface KeptBytes {
  /** The subvolume that first wrote them. */
  readonly writer: string
  readonly bytes: number
}

/** A running box. */
export interface ImaginedBox {
  readonly spec: BoxSpec
  readonly pid: number
  readonly limits: BoxLimits
  readonly mounts: readonly BoxMount[]
  readonly isFrozen: boolean
}

/** A detached command. */
export interface ImaginedCommand {
  readonly boxId: string
  readonly command: readonly string[]
  /** Null while it runs. */
  readonly end: DetachedEnd | null
}

/** Returns the world of a host that has never run an agent. */
export function createWorld(): ImaginedWorld {
  return {
    ...{
      poolId: 'imagined',
      pool: new Map(),
      owners: new Map(),
      bounds: new Map(),
      boxes: new Map(),
      commands: new Map(),
      outputs: new Set(),
    },
    ...{ routes: new Map(), grants: new Map(), objects: new Map(), starts: 0, effects: 0, violations: [] },
  }
}

/** Copies a world. */
export function copyWorld(world: ImaginedWorld): ImaginedWorld {
  const { pool, owners, bounds, boxes, commands, outputs, routes, grants, objects, violations } = world
  return {
    ...world,
    ...{ pool: new Map(pool), owners: new Map(owners), bounds: new Map(bounds) },
    ...{ boxes: new Map(boxes), commands: new Map(commands), outputs: new Set(outputs) },
    ...{ routes: new Map(routes), grants: new Map(grants), objects: new Map(objects), violations: [...violations] },
  }
}

/** Returns the host path of a subvolume. */
export function imaginedPath(name: string): string {
  return `/pool/${name}`
}

/** Replaces the files of a subvolume, as the user of a box or volume does. Throws EDQUOT above the project's limit. */
export function writeContent(world: ImaginedWorld, name: string, content: string): void {
  const found = writable(world, name)
  const kept = write(world, name, Buffer.byteLength(content))
  world.pool.set(name, { ...found, content, kept: [kept] })
}

/** Adds a file of `bytes` bytes to a subvolume. Throws as `writeContent` does. */
export function writeBytes(world: ImaginedWorld, name: string, bytes: number): void {
  const found = writable(world, name)
  world.pool.set(name, { ...found, kept: [...found.kept, write(world, name, bytes)] })
}

/** Returns the number of bytes that a project stores. */
export function keptBytes({ pool, owners }: ImaginedWorld, project: string): number {
  const all = new Set([...pool.values()].flatMap(({ kept }) => kept))
  let sum = 0
  for (const { writer, bytes } of all) if (owners.get(writer) === project) sum += bytes
  return sum
}

function writable({ pool }: ImaginedWorld, name: string): ImaginedSubvolume {
  const found = pool.get(name)
  if (found === undefined || found.isReadOnly) throw new Error(`${name} cannot be written to`)
  return found
}

function write(world: ImaginedWorld, name: string, bytes: number): KeptBytes {
  const project = world.owners.get(name) ?? null
  const most = project === null ? undefined : world.bounds.get(project)
  if (project !== null && most !== undefined && keptBytes(world, project) + bytes > most)
    throw Object.assign(new Error(`${project} is at its bound`), { code: 'EDQUOT', errno: -122 })
  return { writer: name, bytes }
}
