import { createListeners } from '../../../shared/listeners.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { Follower } from '../../lib/kube/follow.ts'
import type { BaseClaim, BaseName, FleetBase, FleetBases } from '../../ports/fleet/bases.ts'
import { baseKeyOf, baseTakenError, decodeBase, encodeBase } from './base-objects.ts'
import { type ClaimedName, type ClaimedObjects, createClaimedObjects } from './claimed-objects.ts'
import { createObjectIndex, type FollowedObject, type ObjectIndex } from './object-index.ts'

export interface KubeBasesSettings {
  api: Pick<KubeApi, 'objects'>
  /** Number of this cell. */
  cell: string
  /** As `FleetBases.open`. */
  send: FleetBases['open']
}

/** The bases of a fleet, stored as objects of the kind Base in a Kubernetes cluster, followed in memory. */
export interface KubeBases extends FleetBases {
  /** Calls `listener` each time that something may have changed in memory. Returns a function that removes it. */
  onChange(listener: () => void): () => void
  /** Maintains the memory, once it runs. */
  follower: Follower
}

/**
 * Creates the bases of a fleet, which `follower` maintains. While the API server is away, the memory does not change, and `find` still
 * works.
 */
export function createKubeBases({ api, cell, send }: KubeBasesSettings): KubeBases {
  const objects = api.objects('Base')
  const changes = createListeners<string | null>()
  const index = createObjectIndex<FleetBase>({ onChange: changes.notify })
  const claimed = createClaimedObjects(objects, index, decodeBase)
  const follower = objects.follow(claimed.view)
  const parts = { claimed, index, cell, versions: noteVersions(index, changes.add) }
  return {
    find: (name) => index.find(baseKeyOf(name))?.value ?? null,
    read: async (name) => (await claimed.read(baseKeyOf(name)))?.value ?? null,
    claim: (claim) => claimBase(parts, claim),
    release: (name, uid) => claimed.release(calledBase(name), ({ value }) => value.uid === uid && value.cell === cell),
    open: send,
    onChange: (listener) => changes.add(() => listener()),
    follower,
  }
}

interface Parts {
  claimed: ClaimedObjects<FollowedObject<FleetBase>>
  index: ObjectIndex<FleetBase>
  cell: string
  /** The highest known version of each name, including deleted bases. */
  versions: ReadonlyMap<string, number>
}

/** Remembers versions of deleted bases too, so that the next base of a name gets another. */
function noteVersions(
  index: ObjectIndex<FleetBase>,
  onChange: (listener: (key: string | null) => void) => unknown,
): ReadonlyMap<string, number> {
  const versions = new Map<string, number>()
  const note = (key: string, { version }: FleetBase): void =>
    void versions.set(key, Math.max(version, versions.get(key) ?? 0))
  onChange((key) => {
    const known = key === null ? null : index.find(key)
    if (key !== null && known !== null) note(key, known.value)
    if (key === null) for (const [each, { value }] of index.all()) note(each, value)
  })
  return versions
}

async function claimBase({ claimed, index, cell, versions }: Parts, claim: BaseClaim): Promise<{ version: number }> {
  const name = calledBase(claim)
  const specOf = (): Record<string, unknown> => {
    const present = index.find(name.key)?.value
    const next = present?.uid === claim.uid ? present.version : (versions.get(name.key) ?? 0) + 1
    return encodeBase({ ...claim, version: Math.max(claim.version, next), cell })
  }
  const { value } = await claimed.claim(name, specOf)
  if (value.uid !== claim.uid) throw baseTakenError(claim, cell, value)
  return { version: value.version }
}

function calledBase(name: BaseName): ClaimedName {
  return { key: baseKeyOf(name), called: `base "${name.name}"` }
}
