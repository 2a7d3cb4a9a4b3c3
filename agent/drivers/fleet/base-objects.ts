import type { ServiceError } from '../../../shared/errors.ts'
import { OTHER_NAME, refusal } from '../../../shared/refusals.ts'
import { timestamp } from '../../../shared/time.ts'
import type { KubeObject } from '../../lib/kube/objects.ts'
import type { BaseClaim, BaseName, FleetBase } from '../../ports/fleet/bases.ts'
import { OWNER_HEADER } from '../../ports/fleet/directory.ts'
import type { FollowedObject } from './object-index.ts'

/** Returns the name of a Base object. Names of projects and bases have no dot. */
export function baseKeyOf({ project, name }: BaseName): string {
  return project === null ? name : `${project}.${name}`
}

/** Builds the spec of a Base object. */
export function encodeBase(base: FleetBase): Record<string, unknown> {
  const { project, createdBy, createdAt, name, uid, version, cell, source } = base
  return {
    ...{ name, uid, version, cell, source, createdAt: timestamp(createdAt) },
    ...(project === null ? {} : { project }),
    ...(createdBy === null ? {} : { createdBy }),
  }
}

/** Reads a Base object, which the API server has validated. */
export function decodeBase({ metadata, spec }: KubeObject): FollowedObject<FleetBase> {
  const { project, name, uid, version, cell, source, createdAt, createdBy } = spec ?? {}
  const value: FleetBase = {
    project: typeof project === 'string' ? project : null,
    name: String(name),
    uid: String(uid),
    version: Number(version),
    cell: String(cell),
    source: typeof source === 'string' ? source : '',
    createdAt: typeof createdAt === 'string' ? Date.parse(createdAt) : 0,
    createdBy: typeof createdBy === 'string' ? createdBy : null,
  }
  return { key: metadata.name, version: Number(metadata.resourceVersion), value }
}

/** Creates the error for a claim at `cell` of a name that `other` has. */
export function baseTakenError({ project, name, createdBy }: BaseClaim, cell: string, other: FleetBase): ServiceError {
  const owner = project === null ? 'All projects share' : `Project "${project}" has`
  const isRepeat = createdBy !== null && other.createdBy === createdBy && other.cell !== cell
  return refusal('name_taken', [`${owner} a base named "${name}" already.`, OTHER_NAME], {
    headers: isRepeat ? { [OWNER_HEADER]: other.cell } : {},
  })
}
