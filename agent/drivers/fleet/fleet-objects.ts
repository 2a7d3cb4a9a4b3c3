import type { ServiceError } from '../../../shared/errors.ts'
import { OTHER_NAME, refusal } from '../../../shared/refusals.ts'
import type { KubeObject } from '../../lib/kube/objects.ts'
import {
  type Cell,
  type Home,
  type HomeClaim,
  type HomeName,
  type KeptHome,
  OWNER_HEADER,
} from '../../ports/fleet/directory.ts'
import { decodeCard, encodeCard } from './home-card.ts'
import type { FollowedObject } from './object-index.ts'

/** A `Home` object, with the fields that the directory uses. */
export interface StoredHome extends FollowedObject<Home> {
  /** Id of the box or volume. */
  uid: string
}

/** Returns the object name of a `Home`. Names of projects, boxes and volumes have no dot. */
export function homeKeyOf({ kind, project, name }: HomeName): string {
  return `${kind === 'box' ? 'box' : 'data'}.${project}.${name}`
}

/** Returns the claimed name of a `Home` by its object name. */
export function homeNameOf(key: string): HomeName {
  const [prefix, project = '', name = ''] = key.split('.')
  return { kind: prefix === 'box' ? 'box' : 'volume', project, name }
}

/** Builds the spec of a `Home`. The API server sets its phase. */
export function encodeClaim(
  { kind, project, name, uid, createdBy, card }: HomeClaim,
  cell: string,
): Record<string, unknown> {
  const by = createdBy === null ? {} : { createdBy }
  return { kind, project, name, uid, cell, epoch: 1, ...by, card: encodeCard(card) }
}

/** Reads the part of a `Home` that the API shows while its cell does not answer. */
export function decodeKept({ spec = {} }: KubeObject): KeptHome {
  const { kind, project, name, uid, cell, card } = spec
  return {
    kind: kind === 'volume' ? 'volume' : 'box',
    project: String(project),
    name: String(name),
    uid: String(uid),
    cell: String(cell),
    card: decodeCard(card),
  }
}

/** Reads a `Home`, which the API server has validated. */
export function decodeHome({ metadata, spec }: KubeObject): StoredHome {
  const { uid, cell, epoch, phase, createdBy } = spec ?? {}
  const home: Home = {
    cell: String(cell),
    epoch: Number(epoch),
    phase: phase === 'Lost' ? 'Lost' : 'Live',
    createdBy: typeof createdBy === 'string' ? createdBy : null,
  }
  return { key: metadata.name, version: Number(metadata.resourceVersion), uid: String(uid), value: home }
}

/** Reads an `Agent`, which the API server has validated. One without a status is not ready. */
export function decodeCell({ metadata, spec, status }: KubeObject): Cell {
  return {
    cell: metadata.name,
    node: String(spec?.['node']),
    channelUrl: String(spec?.['channelUrl']),
    dataUrl: String(spec?.['dataUrl']),
    edgeAddress: textOr(spec?.['edgeAddress'], null),
    region: textOr(spec?.['region'], null),
    free: decodeFree(status?.['free']),
    warm: Number(status?.['warm'] ?? 0),
    heartbeatAt: typeof status?.['heartbeatAt'] === 'string' ? Date.parse(status['heartbeatAt']) : null,
    isReady: status?.['ready'] === true,
    isDraining: status?.['draining'] === true,
  }
}

function decodeFree(free: unknown): Cell['free'] {
  const { ramMb, storageBytes } = (free ?? {}) as Record<string, unknown>
  return typeof ramMb === 'number' && typeof storageBytes === 'number' ? { ramMb, storageBytes } : null
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise
}

/** Creates the error for a claim at `cell` of a name that `home` already has. */
export function nameTakenError({ kind, project, name, createdBy }: HomeClaim, cell: string, home: Home): ServiceError {
  const what = kind === 'box' ? 'box' : 'data volume'
  const isRepeat = createdBy !== null && home.createdBy === createdBy && home.cell !== cell
  return refusal('name_taken', [`Project "${project}" has a ${what} named "${name}" already.`, OTHER_NAME], {
    headers: isRepeat ? { [OWNER_HEADER]: home.cell } : {},
  })
}
