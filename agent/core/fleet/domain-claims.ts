import { asServiceError } from '../../../shared/errors.ts'
import { createKeyedLock, createLimiter, type KeyedLock, type Limiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { HealthFault } from '../../../shared/schemas/health.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { DomainOwner, Domains } from '../../ports/fleet/domains.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ServiceOutline } from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'
import { boxOfHost, type EdgeAddress, hostOfBox, hostOfPreview, hostOfService } from '../common/urls.ts'

export interface DomainClaimsDeps {
  store: Pick<Store, 'boxes' | 'services'>
  domains: Domains
  address: Pick<EdgeAddress, 'domain'>
  clock: Clock
  logger: Logger
}

/** Keeps the fleet's claims of domains in step with the records of this cell's boxes. */
export interface DomainClaims {
  /**
   * Claims domains for a box or service while `work` writes them into its record. Then gives up those that the record lacks.
   * @throws ServiceError `domain_taken`, `runtime_unavailable` of a claim, or the error of `work`
   */
  claimWhile<T>(owner: DomainOwner, hosts: readonly string[], work: () => Promise<T>): Promise<T>
  /** Brings the fleet in step with the records of a box, which may be deleted. Retries failures, and never rejects. */
  settle(boxId: string): Promise<void>
  /** Gives up all domains of a deleted box. @throws ServiceError `runtime_unavailable` */
  releaseAll(boxId: string): Promise<void>
  /**
   * Brings the fleet in step with the records of all boxes, for example after a restore of its backup. Returns the domains that another
   * cell has now.
   * @throws ServiceError `runtime_unavailable`. Earlier writes stay.
   */
  publishAll(): Promise<HealthFault[]>
  /** Stops all retries. */
  close(): void
}

/** Creates the claims. Changes the domains of a box one at a time, so that a domain is not given up while it is being published. */
export function createDomainClaims(deps: DomainClaimsDeps): DomainClaims {
  const { store, domains, logger, clock } = deps
  const parts: Parts = { ...deps, turns: createKeyedLock(), calls: createLimiter(CALLS_AT_ONCE) }
  const late = new Set<string>()
  const closing = new AbortController()
  const settle = async (boxId: string): Promise<void> => {
    try {
      await parts.turns.run(boxId, () => bring(parts, boxId, warnOfConflict))
    } catch (error) {
      if (late.size === 0) {
        logger.warn('publishing the domains of a box to the fleet later', { box: boxId, error })
        void retry()
      }
      late.add(boxId)
    }
  }
  const retry = async (): Promise<void> => {
    await clock.sleep(RETRY_MS, closing.signal)
    if (closing.signal.aborted) return
    const boxIds = [...late]
    late.clear()
    for (const boxId of boxIds) await settle(boxId)
  }
  const warnOfConflict = (domain: string, { uid }: DomainOwner): void =>
    logger.error('another box of the fleet has the same domain', { domain, box: uid })
  return {
    settle,
    close: () => closing.abort(),
    claimWhile: async (owner, hosts, work) => {
      // A box of this cell may have given up a domain that the fleet still has.
      const others = new Set(hosts.map((host) => domains.find(host)?.uid).filter((uid) => uid !== undefined))
      for (const uid of others) if ((await store.boxes.byId(uid)) !== null) await settle(uid)
      return parts.turns.run(owner.uid, async () => {
        try {
          await claimAll(parts, new Map(hosts.map((host) => [host, owner])))
          return await work()
        } catch (error) {
          if (hosts.length > 0) void settle(owner.uid)
          throw error
        }
      })
    },
    releaseAll: (boxId) =>
      parts.turns.run(boxId, async () => release(parts, boxId, [...(await domains.ofBox(boxId)).keys()])),
    publishAll: async () => {
      const faults: HealthFault[] = []
      const note = (domain: string, { uid }: DomainOwner): void => void faults.push(conflictFault(domain, uid))
      for (const boxId of await store.boxes.ids()) await parts.turns.run(boxId, () => bring(parts, boxId, note))
      return faults
    },
  }
}

/** Returns claims for an agent without a fleet, whose own records are complete. */
export function createLocalClaims(): DomainClaims {
  const nothing = async (): Promise<void> => undefined
  return {
    claimWhile: (_owner, _hosts, work) => work(),
    ...{ settle: nothing, releaseAll: nothing, publishAll: async () => [], close: () => undefined },
  }
}

/** Returns a directory that gives up a box's domains before its name, so that none outlives the name of its owner. */
export function withDomains(directory: Directory, claims: Pick<DomainClaims, 'releaseAll'>): Directory {
  return {
    ...directory,
    release: async (name, uid) => {
      if (name.kind === 'box') await claims.releaseAll(uid)
      await directory.release(name, uid)
    },
  }
}

interface Parts extends DomainClaimsDeps {
  /** By box. */
  turns: KeyedLock
  calls: Limiter
}

/** Gives up domains that a box no longer has, and claims those that the fleet lacks. */
async function bring(
  parts: Parts,
  boxId: string,
  onConflict: (domain: string, owner: DomainOwner) => void,
): Promise<void> {
  const { store, domains, address } = parts
  const box = await store.boxes.byId(boxId)
  const wanted = box === null ? NONE : hostsToTell(box, await store.services.of(boxId), address)
  const told = await domains.ofBox(boxId)
  const isTold = (host: string, owner: DomainOwner): boolean => told.get(host)?.service === owner.service
  const surplus = [...told].flatMap(([host, { service }]) => (wanted.get(host)?.service === service ? [] : [host]))
  await release(parts, boxId, surplus)
  const missing = [...wanted].filter(([host, owner]) => !isTold(host, owner))
  await Promise.all(
    missing.map(async ([host, owner]) => {
      try {
        await claimAll(parts, new Map([[host, owner]]))
      } catch (error) {
        if (asServiceError(error).code !== 'domain_taken') throw error
        onConflict(host, owner)
      }
    }),
  )
}

async function claimAll({ domains, calls }: Parts, owners: ReadonlyMap<string, DomainOwner>): Promise<void> {
  const outcomes = await Promise.allSettled(
    [...owners].map(([host, owner]) => calls.run(() => domains.claim(host, owner))),
  )
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

async function release({ domains, calls }: Parts, boxId: string, hosts: readonly string[]): Promise<void> {
  const outcomes = await Promise.allSettled(hosts.map((host) => calls.run(() => domains.release(host, boxId))))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

/** Returns the hosts of a box that do not contain its name: custom domains of the box and its services, and labels for long names. */
function hostsToTell(
  box: BoxRecord,
  services: readonly Pick<ServiceOutline, 'name' | 'domains'>[],
  address: DomainClaimsDeps['address'],
): ReadonlyMap<string, DomainOwner> {
  const ownerOf = (service: string | null): DomainOwner => ({
    project: box.project,
    box: box.name,
    uid: box.id,
    service,
  })
  const hosts = [
    ...[hostOfBox(box, address), ...box.domains].map((host) => [host, ownerOf(null)] as const),
    ...services.flatMap(({ name, domains }) => {
      const own = [hostOfService(box, name, address), hostOfPreview(box, name, address)]
      return [...own, ...domains].map((host) => [host, ownerOf(name)] as const)
    }),
  ]
  return new Map(hosts.filter(([host]) => boxOfHost(host, address) === null))
}

function conflictFault(domain: string, boxId: string): HealthFault {
  return {
    code: 'domain_conflict',
    evidence: `The box ${boxId} of this cell has the custom domain "${domain}", which belongs to another box of the fleet.`,
    remedy: 'Unpublish it from one of the two boxes, at the agent of that box.',
  }
}

const NONE: ReadonlyMap<string, DomainOwner> = new Map<string, DomainOwner>()
const CALLS_AT_ONCE = 16
const RETRY_MS = 1_000
