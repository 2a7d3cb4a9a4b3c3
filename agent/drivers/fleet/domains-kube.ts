import { ServiceError } from '../../../shared/errors.ts'
import { createListeners } from '../../../shared/listeners.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { FollowedView } from '../../lib/kube/follow.ts'
import type { KubeObject, KubeObjects } from '../../lib/kube/objects.ts'
import type { DomainOwner, Domains } from '../../ports/fleet/domains.ts'
import { createObjectIndex, type FollowedObject, type ObjectIndex } from './object-index.ts'
import { createOrNull, deleteUnchanged } from './object-writes.ts'

/** The domains of a fleet: objects of the kind Domain in a Kubernetes cluster, followed in memory. */
export interface KubeDomains extends Domains {
  /** Begins to follow; resolves once the memory is complete, or at the first failure: it is then completed later. */
  open(): Promise<void>
  close(): void
}

/** Creates the domains of a fleet; `open` starts them. While the API server is away memory stays as it is, and `find` goes on. */
export function createKubeDomains({ api }: { api: Pick<KubeApi, 'objects'> }): KubeDomains {
  const objects = api.objects('Domain')
  const changes = createListeners<string | null>()
  const boxes = createBoxIndex()
  const index: ObjectIndex<DomainOwner> = createObjectIndex({
    onChange: (host) => {
      if (host === null) boxes.replaceAll(index)
      else boxes.set(host, index.find(host)?.value.uid ?? null)
      changes.notify(host)
    },
  })
  const follower = objects.follow(viewDomains(index))
  const parts = { objects, index }
  return {
    find: (host) => index.find(host)?.value ?? null,
    read: (host) => read(parts, host),
    ofBox: async (uid) => {
      await follower.synced()
      const hosts = [...boxes.of(uid)]
      return new Map(hosts.flatMap((host) => [[host, index.find(host)?.value] as const]).filter(isKnown))
    },
    claim: (host, owner) => claim(parts, host, owner),
    release: (host, uid) => release(parts, host, uid),
    onChange: changes.add,
    open: () => follower.start(),
    close: () => follower.close(),
  }
}

interface Parts {
  objects: KubeObjects
  index: ObjectIndex<DomainOwner>
}

async function read({ objects, index }: Parts, host: string): Promise<DomainOwner | null> {
  const known = index.find(host)
  const found = await objects.get(host)
  if (found !== null) return note(index, found).value
  if (known !== null) index.forget(host, known.version)
  return null
}

async function claim({ objects, index }: Parts, host: string, owner: DomainOwner): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const made = await createOrNull(objects, host, encodeDomain(host, owner))
    const found = made ?? (await objects.get(host))
    // One that is there and then is not was given up meanwhile: the domain is free.
    if (found === null) continue
    const { uid, service } = note(index, found).value
    if (uid === owner.uid && service === owner.service) return
    throw new ServiceError('domain_taken', `The domain "${host}" belongs to another box or service.`)
  }
  throw changesTooOften(host)
}

async function release({ objects, index }: Parts, host: string, uid: string): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const known = index.find(host)
    const found = await objects.get(host)
    if (found === null) return known === null ? undefined : index.forget(host, known.version)
    const { value, version } = note(index, found)
    if (value.uid !== uid) return
    if (await deleteUnchanged(objects, found)) return index.forget(host, version)
  }
  throw changesTooOften(host)
}

function note(index: ObjectIndex<DomainOwner>, object: KubeObject): FollowedObject<DomainOwner> {
  const stored = decodeDomain(object)
  index.note(stored)
  return stored
}

function viewDomains(index: ObjectIndex<DomainOwner>): FollowedView<KubeObject> {
  return {
    replaceAll: (pages) =>
      index.replaceAll(
        (async function* () {
          for await (const { items, version } of pages) yield { objects: items.map(decodeDomain), version }
        })(),
      ),
    put: (object) => index.put(decodeDomain(object)),
    drop: ({ metadata }) => index.drop(metadata.name, Number(metadata.resourceVersion)),
  }
}

/** Hosts by the id of their box. */
function createBoxIndex() {
  const hosts = new Map<string, Set<string>>()
  const owners = new Map<string, string>()
  const set = (host: string, uid: string | null): void => {
    const before = owners.get(host)
    if (before === uid) return
    const left = before === undefined ? undefined : hosts.get(before)
    left?.delete(host)
    if (before !== undefined && left?.size === 0) hosts.delete(before)
    if (uid === null) {
      owners.delete(host)
      return
    }
    owners.set(host, uid)
    hosts.set(uid, (hosts.get(uid) ?? new Set()).add(host))
  }
  return {
    set,
    of: (uid: string): Iterable<string> => hosts.get(uid) ?? [],
    replaceAll: (index: ObjectIndex<DomainOwner>): void => {
      hosts.clear()
      owners.clear()
      for (const [host, { value }] of index.all()) set(host, value.uid)
    },
  }
}

function encodeDomain(domain: string, { project, box, uid, service }: DomainOwner): Record<string, unknown> {
  return { domain, project, box, uid, ...(service === null ? {} : { service }) }
}

/** Reads a Domain object, which the API server has validated. */
function decodeDomain({ metadata, spec }: KubeObject): FollowedObject<DomainOwner> {
  const { project, box, uid, service } = spec ?? {}
  const value: DomainOwner = {
    project: String(project),
    box: String(box),
    uid: String(uid),
    service: typeof service === 'string' ? service : null,
  }
  return { key: metadata.name, version: Number(metadata.resourceVersion), value }
}

function isKnown(entry: readonly [string, DomainOwner | undefined]): entry is readonly [string, DomainOwner] {
  return entry[1] !== undefined
}

function changesTooOften(host: string): ServiceError {
  return new ServiceError('runtime_unavailable', `Who has the domain "${host}" changes too often now; try again.`)
}

/** Rounds in which a domain is found changed by others between reading and writing. */
const ATTEMPTS_MAX = 8
