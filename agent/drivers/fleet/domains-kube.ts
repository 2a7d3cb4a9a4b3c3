import { createListeners } from '../../../shared/listeners.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { KubeObject } from '../../lib/kube/objects.ts'
import type { DomainOwner, Domains } from '../../ports/fleet/domains.ts'
import { type ClaimedName, type ClaimedObjects, createClaimedObjects } from './claimed-objects.ts'
import { createObjectIndex, type FollowedObject, type ObjectIndex } from './object-index.ts'

/** The domains of a fleet, stored as objects of the kind Domain in a Kubernetes cluster, followed in memory. */
export interface KubeDomains extends Domains {
  /** Begins to follow. Resolves once the memory is complete, or at the first failure, after which it is completed later. */
  open(): Promise<void>
  close(): void
}

/**
 * Creates the domains of a fleet, which `open` starts. While the API server is away, the memory does not change, and `find` still works.
 */
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
  const claimed = createClaimedObjects(objects, index, decodeDomain)
  const follower = objects.follow(claimed.view)
  return {
    find: (host) => index.find(host)?.value ?? null,
    read: async (host) => (await claimed.read(host))?.value ?? null,
    ofBox: async (uid) => {
      await follower.synced()
      const hosts = [...boxes.of(uid)]
      return new Map(hosts.flatMap((host) => [[host, index.find(host)?.value] as const]).filter(isKnown))
    },
    claim: (host, owner) => claimDomain(claimed, host, owner),
    release: (host, uid) => claimed.release(calledDomain(host), ({ value }) => value.uid === uid),
    onChange: changes.add,
    open: () => follower.start(),
    close: () => follower.close(),
  }
}

async function claimDomain(
  claimed: ClaimedObjects<FollowedObject<DomainOwner>>,
  host: string,
  owner: DomainOwner,
): Promise<void> {
  const { uid, service } = (await claimed.claim(calledDomain(host), () => encodeDomain(host, owner))).value
  if (uid === owner.uid && service === owner.service) return
  throw refusal('domain_taken', [
    `The domain "${host}" belongs to another box or service.`,
    'Remove it from that one first, or publish another domain.',
  ])
}

function calledDomain(host: string): ClaimedName {
  return { key: host, called: `domain "${host}"` }
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
