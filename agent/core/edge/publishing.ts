import { ServiceError } from '../../../shared/errors.ts'
import { quotaExceeded, refusal } from '../../../shared/refusals.ts'
import type { PublishBody } from '../../../shared/schemas/edge.ts'
import type { DomainOwner } from '../../ports/fleet/domains.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord, DomainTaken } from '../../ports/store/boxes.ts'
import type { ServiceRecord } from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Boxes, BoxRef } from '../boxes/boxes.ts'
import type { Admission } from '../common/admission.ts'
import { awaitCommit } from '../common/commit.ts'
import { editRecord } from '../common/edit-record.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { storedProtocol } from '../common/protocol.ts'
import { recordGrowth } from '../common/record-bytes.ts'
import { type EdgeAddress, isReserved, mayPublish } from '../common/urls.ts'
import type { DomainClaims } from '../fleet/domain-claims.ts'
import { type ServiceRef, serviceNotFound } from '../services/services.ts'
import type { DomainProofs } from './domain-proofs.ts'
import type { EdgeRoutes } from './routes.ts'

export interface PublishingDeps {
  store: Store
  clock: Clock
  boxes: Pick<Boxes, 'get'>
  routes: Pick<EdgeRoutes, 'settle' | 'wake'>
  address: EdgeAddress
  admission: Admission
  /** Domains are unique in the fleet. */
  claims: Pick<DomainClaims, 'claimWhile' | 'settle'>
  /** Host names that are not for boxes, nor are those above and below them. */
  reserved: readonly string[]
  /** Null: domains need no proof. */
  proofs: Pick<DomainProofs, 'check'> | null
}

/** Custom domains of boxes and services. All methods resolve once the edge serves the change. */
export interface Publishing {
  /**
   * Adds domains to a box, and sets its port and `auth` if given.
   * @throws ServiceError `box_not_found`, `domain_taken`, `domain_unverified`, `invalid_request` for a domain reserved for boxes' own names or by the
   * operator, `quota_exceeded`,
   * `runtime_unavailable` while the fleet cannot be asked who has a domain
   */
  publish(ref: BoxRef, body: PublishBody, ifMatch: string | null): Promise<BoxRecord>
  /** Removes domains from a box, all if none is named. Ignores domains that it does not have. */
  unpublish(ref: BoxRef, domains: readonly string[], ifMatch: string | null): Promise<BoxRecord>
  /** As `publish`, for the active version of a service. @throws ServiceError also `service_not_found` */
  publishService(ref: ServiceRef, domains: readonly string[], ifMatch: string | null): Promise<void>
  unpublishService(ref: ServiceRef, domains: readonly string[], ifMatch: string | null): Promise<void>
}

/** Changes the owner of a domain in one commit, and waits for the edge. */
export function createPublishing(deps: PublishingDeps): Publishing {
  const { store, boxes, routes, clock, admission } = deps
  const changeBox = async (
    ref: BoxRef,
    ifMatch: string | null,
    edit: (record: BoxRecord) => BoxRecord,
  ): Promise<BoxRecord> => {
    const record = await editRecord(clock, {
      read: () => boxes.get(ref),
      edit: (box) => {
        checkIfMatch(ifMatch, box.version)
        return edit(box)
      },
      write: (next, record) =>
        admitStored(admission, [ref.project, record, next], () =>
          awaitCommit(store.boxes.publish(next), () => routes.wake(record.id)),
        ),
    })
    await routes.settle(record.id)
    return record
  }
  const changeService = async (
    { service: name, ...ref }: ServiceRef,
    ifMatch: string | null,
    edit: (domains: readonly string[]) => string[],
  ): Promise<void> => {
    const { boxId } = await editRecord(clock, {
      read: async () => {
        const box = await boxes.get(ref)
        const record = await store.services.get(box.id, name)
        if (record === null) throw serviceNotFound(box, name)
        return record
      },
      edit: (record) => {
        checkIfMatch(ifMatch, record.version)
        const domains = edit(record.domains)
        return domains.join() === record.domains.join() ? record : { ...record, domains }
      },
      write: (next, record) =>
        admitStored(admission, [ref.project, record, next], () =>
          awaitCommit(store.services.publish(next), () => routes.wake(record.boxId)),
        ),
    })
    await routes.settle(boxId)
  }
  return withClaims(deps, {
    publish: (ref, { domains = [], port, protocol, auth }, ifMatch) =>
      changeBox(ref, ifMatch, (record) => {
        const next = {
          ...record,
          domains: withDomains(record.domains, domains),
          port: port === undefined ? record.port : port || null,
          protocol: protocol === undefined ? record.protocol : storedProtocol(protocol),
          urlSettings: { ...record.urlSettings, auth: auth ?? record.urlSettings.auth },
        }
        return JSON.stringify(next) === JSON.stringify(record) ? record : next
      }),
    unpublish: (ref, domains, ifMatch) =>
      changeBox(ref, ifMatch, (record) => {
        const kept = withoutDomains(record.domains, domains)
        return kept.length === record.domains.length ? record : { ...record, domains: kept }
      }),
    publishService: (ref, domains, ifMatch) => changeService(ref, ifMatch, (before) => withDomains(before, domains)),
    unpublishService: (ref, domains, ifMatch) =>
      changeService(ref, ifMatch, (before) => withoutDomains(before, domains)),
  })
}

/** Checks domains, claims them in the fleet before a record has them, and gives them up once it no longer has them. */
function withClaims(deps: PublishingDeps, own: Publishing): Publishing {
  const { store, boxes, claims, proofs } = deps
  return {
    publish: async (ref, body, ifMatch) => {
      const { domains = [] } = body
      checkDomains(domains, deps)
      const box = await boxes.get(ref)
      await proofs?.check(box.project, added(domains, box.domains))
      const owner = ownerOf(box, null)
      return claims.claimWhile(owner, domains, () => own.publish(ref, body, ifMatch))
    },
    unpublish: async (ref, domains, ifMatch) => {
      const record = await own.unpublish(ref, domains, ifMatch)
      await claims.settle(record.id)
      return record
    },
    publishService: async (ref, domains, ifMatch) => {
      checkDomains(domains, deps)
      const box = await boxes.get(ref)
      const record = await store.services.get(box.id, ref.service)
      if (record === null) throw serviceNotFound(box, ref.service)
      await proofs?.check(box.project, added(domains, record.domains))
      const owner = ownerOf(box, ref.service)
      await claims.claimWhile(owner, domains, () => own.publishService(ref, domains, ifMatch))
    },
    unpublishService: async (ref, domains, ifMatch) => {
      const { id } = await boxes.get(ref)
      await own.unpublishService(ref, domains, ifMatch)
      await claims.settle(id)
    },
  }
}

function ownerOf({ project, name, id }: BoxRecord, service: string | null): DomainOwner {
  return { project, box: name, uid: id, service }
}

/** Returns false if the record has changed. @throws ServiceError `domain_taken`, `quota_exceeded` */
async function admitStored<R extends BoxRecord | ServiceRecord>(
  admission: Admission,
  [project, before, next]: [project: string, before: R, next: R],
  write: () => Promise<'stored' | 'changed' | DomainTaken>,
): Promise<boolean> {
  const outcome = await admission.admit({ project, recordBytes: recordGrowth(before, next) }, write)
  if (typeof outcome === 'object') throw domainTaken(outcome.taken)
  return outcome === 'stored'
}

function withDomains(before: readonly string[], added: readonly string[]): string[] {
  const all = [...new Set([...before, ...added])]
  if (all.length > DOMAINS_MAX) {
    throw quotaExceeded(
      `\`domains\`: at most ${DOMAINS_MAX} of a box or service.`,
      'Remove one, or publish another service.',
    )
  }
  return all
}

function withoutDomains(before: readonly string[], removed: readonly string[]): string[] {
  return removed.length === 0 ? [] : before.filter((domain) => !removed.includes(domain))
}

function added(domains: readonly string[], before: readonly string[]): string[] {
  return domains.filter((domain) => !before.includes(domain))
}

function checkDomains(
  domains: readonly string[],
  { address, reserved }: Pick<PublishingDeps, 'address' | 'reserved'>,
): void {
  const errors = domains.flatMap((domain, index) => {
    const reason = !mayPublish(domain, address)
      ? `is kept for boxes' own names`
      : isReserved(domain, { reserved, address })
        ? `is reserved by the operator (BOXYARD_RESERVED_DOMAINS, or a host of the API or the console): choose another domain`
        : null
    return reason === null ? [] : [{ pointer: `/domains/${index}`, detail: reason }]
  })
  if (errors.length === 0) return
  throw new ServiceError('invalid_request', `${errors[0]?.pointer}: ${errors[0]?.detail}.`, { errors })
}

function domainTaken(domain: string): ServiceError {
  return refusal('domain_taken', [
    `The domain "${domain}" belongs to another box or service.`,
    'Remove it from that one first, or publish another domain.',
  ])
}

/** Domains per box, and per service. */
export const DOMAINS_MAX = 1000
