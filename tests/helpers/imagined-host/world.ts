import type { BoxLimits } from '../../../agent/ports/boxes/limits.ts'
import type { BoxMount, BoxSpec, DetachedEnd } from '../../../agent/ports/boxes/runtime.ts'
import type { EdgeGrant, EdgeRoute } from '../../../agent/ports/edge/edge.ts'

/** The state of an imagined host: it outlives agents. Drivers replace entries and never change one, so that a copy is cheap. */
export interface ImaginedWorld {
  poolId: string
  /** By name. */
  pool: Map<string, ImaginedSubvolume>
  /** Running boxes by id, forks among them. */
  boxes: Map<string, ImaginedBox>
  /** Detached commands by id, until they are forgotten. */
  commands: Map<string, ImaginedCommand>
  /** Commands with output files, as `box/command`. */
  outputs: Set<string>
  /** By host name. */
  routes: Map<string, EdgeRoute>
  /** By credential and scope. */
  grants: Map<string, EdgeGrant>
  /** Objects of the backup store by name. */
  objects: Map<string, Uint8Array>
  /** Number of boxes started so far; the pid of the last one. */
  starts: number
  /** Rises with each effect. */
  effects: number
  /** What no agent may do to a host. */
  violations: string[]
}

/** A subvolume; `content` stands for its files. */
export interface ImaginedSubvolume {
  readonly content: string
  readonly origin: string
  readonly isReadOnly: boolean
  readonly quotaBytes: number | null
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

/** Returns the world of a host on which no agent has run. */
export function createWorld(): ImaginedWorld {
  return {
    ...{ poolId: 'imagined', pool: new Map(), boxes: new Map(), commands: new Map(), outputs: new Set() },
    ...{ routes: new Map(), grants: new Map(), objects: new Map(), starts: 0, effects: 0, violations: [] },
  }
}

/** Copies a world. */
export function copyWorld(world: ImaginedWorld): ImaginedWorld {
  const { pool, boxes, commands, outputs, routes, grants, objects, violations } = world
  return {
    ...world,
    ...{ pool: new Map(pool), boxes: new Map(boxes), commands: new Map(commands), outputs: new Set(outputs) },
    ...{ routes: new Map(routes), grants: new Map(grants), objects: new Map(objects), violations: [...violations] },
  }
}

/** Returns the host path of a subvolume. */
export function imaginedPath(name: string): string {
  return `/pool/${name}`
}

/** Writes files into a subvolume, as a box or volume's user does. */
export function writeContent({ pool }: ImaginedWorld, name: string, content: string): void {
  const found = pool.get(name)
  if (found === undefined || found.isReadOnly) throw new Error(`${name} cannot be written to`)
  pool.set(name, { ...found, content })
}
