import { ServiceError } from '../../../shared/errors.ts'
import { createListeners } from '../../../shared/listeners.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { FollowedView, Follower } from '../../lib/kube/follow.ts'
import type { KubeObject, KubeObjects } from '../../lib/kube/objects.ts'
import type { BaseClaim, BaseName, FleetBase, FleetBases } from '../../ports/fleet/bases.ts'
import { baseKeyOf, baseTakenError, decodeBase, encodeBase } from './base-objects.ts'
import { createObjectIndex, type FollowedObject, type ObjectIndex } from './object-index.ts'
import { createOrNull, deleteUnchanged } from './object-writes.ts'

export interface KubeBasesSettings {
  api: Pick<KubeApi, 'objects'>
  /** Number of this cell. */
  cell: string
  /** As `FleetBases.open`. */
  send: FleetBases['open']
}

/** The bases of a fleet: objects of the kind Base in a Kubernetes cluster, followed in memory. */
export interface KubeBases extends FleetBases {
  /** Calls `listener` each time that something may have changed in memory; returns its removal. */
  onChange(listener: () => void): () => void
  /** Keeps the memory, once it is started. */
  follower: Follower
}

/** Creates the bases of a fleet; `follower` keeps them. While the API server is away memory stays as it is, and `find` goes on. */
export function createKubeBases({ api, cell, send }: KubeBasesSettings): KubeBases {
  const objects = api.objects('Base')
  const changes = createListeners<string | null>()
  const index = createObjectIndex<FleetBase>({ onChange: changes.notify })
  const follower = objects.follow(viewBases(index))
  const parts = { objects, index, cell, versions: noteVersions(index, changes.add) }
  return {
    find: (name) => index.find(baseKeyOf(name))?.value ?? null,
    read: (name) => read(parts, name),
    claim: (claimed) => claim(parts, claimed),
    release: (name, uid) => release(parts, name, uid),
    open: send,
    onChange: (listener) => changes.add(() => listener()),
    follower,
  }
}

interface Parts {
  objects: KubeObjects
  index: ObjectIndex<FleetBase>
  cell: string
  /** The highest version of each name that was heard of, also of bases that are no more. */
  versions: ReadonlyMap<string, number>
}

/** Remembers versions also of bases that are no more, so that the next of a name gets another. */
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

async function read({ objects, index }: Parts, name: BaseName): Promise<FleetBase | null> {
  const key = baseKeyOf(name)
  const known = index.find(key)
  const found = await objects.get(key)
  if (found !== null) return note(index, found).value
  if (known !== null) index.forget(key, known.version)
  return null
}

async function claim({ objects, index, cell, versions }: Parts, claimed: BaseClaim): Promise<{ version: number }> {
  const key = baseKeyOf(claimed)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const present = index.find(key)?.value
    const next = present?.uid === claimed.uid ? present.version : (versions.get(key) ?? 0) + 1
    const version = Math.max(claimed.version, next)
    const made = await createOrNull(objects, key, encodeBase({ ...claimed, version, cell }))
    const found = made ?? (await objects.get(key))
    // One that is there and then is not was given up meanwhile: the name is free.
    if (found === null) continue
    const { value } = note(index, found)
    if (value.uid !== claimed.uid) throw baseTakenError(claimed, cell, value)
    return { version: value.version }
  }
  throw changesTooOften(claimed)
}

async function release({ objects, index, cell }: Parts, name: BaseName, uid: string): Promise<void> {
  const key = baseKeyOf(name)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const known = index.find(key)
    const found = await objects.get(key)
    if (found === null) return known === null ? undefined : index.forget(key, known.version)
    const { value, version } = note(index, found)
    if (value.uid !== uid || value.cell !== cell) return
    if (await deleteUnchanged(objects, found)) return index.forget(key, version)
  }
  throw changesTooOften(name)
}

function note(index: ObjectIndex<FleetBase>, object: KubeObject): FollowedObject<FleetBase> {
  const stored = decodeBase(object)
  index.note(stored)
  return stored
}

function viewBases(index: ObjectIndex<FleetBase>): FollowedView<KubeObject> {
  return {
    replaceAll: (pages) =>
      index.replaceAll(
        (async function* () {
          for await (const { items, version } of pages) yield { objects: items.map(decodeBase), version }
        })(),
      ),
    put: (object) => index.put(decodeBase(object)),
    drop: ({ metadata }) => index.drop(metadata.name, Number(metadata.resourceVersion)),
  }
}

function changesTooOften({ name }: BaseName): ServiceError {
  return new ServiceError('runtime_unavailable', `Who has the base "${name}" changes too often now; try again.`)
}

/** Rounds in which a name is found changed by others between reading and writing. */
const ATTEMPTS_MAX = 8
