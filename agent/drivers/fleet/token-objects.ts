import { PERMISSIONS, type Permission } from '../../../shared/schemas/access.ts'
import { timestamp } from '../../../shared/time.ts'
import type { KubeObject } from '../../lib/kube/objects.ts'
import type { FleetRevocation, FleetToken } from '../../ports/fleet/tokens.ts'

/** Returns the name of the Token and Revocation objects of a token's id, which has one underscore. */
export function tokenKeyOf(id: string): string {
  return id.replace('_', '-')
}

/** Returns the token id that names a Token or Revocation object. */
export function tokenIdOf({ metadata }: KubeObject): string {
  return metadata.name.replace('-', '_')
}

/** Builds the spec of a Token object. */
export function encodeToken(token: FleetToken): Record<string, unknown> {
  const { id, name, projects, permissions, createdAt, root, keyId, expiresAt, createdBy, cell } = token
  const { isSession, session, signedOutAt } = token
  return {
    ...{ id, name, permissions, root, createdAt: timestamp(createdAt) },
    projects: projects === '*' ? ['*'] : projects,
    ...(keyId === null ? {} : { keyId }),
    ...(expiresAt === null ? {} : { expiresAt: timestamp(expiresAt) }),
    ...(createdBy === null ? {} : { createdBy }),
    ...(cell === undefined ? {} : { cell }),
    ...(isSession === undefined ? {} : { isSession }),
    ...(session === undefined ? {} : { session }),
    ...(signedOutAt === undefined ? {} : { signedOutAt: timestamp(signedOutAt) }),
  }
}

/** Reads a Token object, which the API server has validated. Ignores permissions of later versions. */
export function decodeToken(object: KubeObject): FleetToken {
  const spec = object.spec ?? {}
  const { keyId, name, projects, permissions, expiresAt, createdAt, createdBy, root, cell } = spec
  const { isSession, session, signedOutAt } = spec
  const ofProjects = textsOf(projects)
  return {
    id: tokenIdOf(object),
    keyId: typeof keyId === 'string' ? keyId : null,
    name: String(name),
    projects: ofProjects.includes('*') ? '*' : ofProjects,
    permissions: textsOf(permissions).filter(isPermission),
    expiresAt: timeOrNull(expiresAt),
    createdAt: Date.parse(String(createdAt)),
    createdBy: typeof createdBy === 'string' ? createdBy : null,
    root: String(root),
    ...(typeof cell === 'string' ? { cell } : {}),
    ...(isSession === true ? { isSession } : {}),
    ...(typeof session === 'string' ? { session } : {}),
    ...(typeof signedOutAt === 'string' ? { signedOutAt: Date.parse(signedOutAt) } : {}),
  }
}

/** Builds the spec of a Revocation object. */
export function encodeRevocation({ token, revokedAt, until, cell }: FleetRevocation): Record<string, unknown> {
  return {
    ...{ token, revokedAt: timestamp(revokedAt) },
    ...(until === null ? {} : { until: timestamp(until) }),
    ...(cell === null ? {} : { cell }),
  }
}

/** Reads a Revocation object, which the API server has validated. */
export function decodeRevocation(object: KubeObject): FleetRevocation {
  const { revokedAt, until, cell } = object.spec ?? {}
  return {
    token: tokenIdOf(object),
    revokedAt: Date.parse(String(revokedAt)),
    until: timeOrNull(until),
    cell: typeof cell === 'string' ? cell : null,
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function timeOrNull(value: unknown): number | null {
  return typeof value === 'string' ? Date.parse(value) : null
}

function isPermission(text: string): text is Permission {
  return (PERMISSIONS as readonly string[]).includes(text)
}
