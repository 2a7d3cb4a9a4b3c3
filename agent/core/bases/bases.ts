import { ServiceError } from '../../../shared/errors.ts'
import { permissionDenied, refusal } from '../../../shared/refusals.ts'
import type { BaseListQuery } from '../../../shared/schemas/bases.ts'
import type { BaseName } from '../../ports/fleet/bases.ts'
import type { BaseQuery, BaseRecord, BaseUse } from '../../ports/store/bases.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Caller } from '../common/caller.ts'
import { findByIdempotencyKey } from '../common/create-record.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { baseHomeOf } from '../fleet/base-names.ts'
import { releaseDeleted } from '../fleet/homes.ts'
import { type BaseCreateDeps, findBoxSource, makeBase } from './create.ts'
import { parseImageReference } from './image-reference.ts'
import { type BaseImportDeps, createBaseImports, type Imported } from './import.ts'
import { copyWhole, type WholeCopy } from './whole-copy.ts'

/** A base by its path. `isShared` selects the base that all projects share. */
export interface BaseRef {
  project: string
  name: string
  isShared: boolean
}

/** Options common to all creates: name, owner and idempotency key. */
export interface BaseOptions {
  project: string
  name: string
  isShared: boolean
  idempotencyKey: string | null
}

/** Options of a base made from the root of a box, in its current state or in a snapshot. */
export interface BoxBaseOptions extends BaseOptions {
  box: string
  snapshot: string | undefined
}

/** Options of a base made from an uploaded archive. */
export interface ArchiveBaseOptions extends BaseOptions {
  isImage: boolean
  bytes: AsyncIterable<Uint8Array>
  waitMs: number
}

/** Options of a base made from an image of a registry. */
export interface PulledBaseOptions extends BaseOptions {
  image: string
  waitMs: number
}

/** Creates, lists and deletes bases. */
export interface Bases {
  /** @throws ServiceError `box_not_found`, `snapshot_not_found`, `name_taken`, `permission_denied` for a shared one */
  create(caller: Caller, options: BoxBaseOptions): Promise<BaseRecord>
  /**
   * Creates a base from the tar of a root filesystem or the archive of an image. Returns the operation's id if that outlives
   * `waitMs`.
   * @throws ServiceError `name_taken`, `permission_denied`, `rate_limited`, `invalid_request`, `body_too_large`
   */
  unpack(caller: Caller, options: ArchiveBaseOptions): Promise<Imported>
  /**
   * Creates a base from an image of a registry. Returns as `unpack` does.
   * @throws ServiceError `name_taken`, `permission_denied`, `rate_limited`, `invalid_request`, `body_too_large`, and `internal` for
   * a registry that does not answer
   */
  pull(caller: Caller, options: PulledBaseOptions): Promise<Imported>
  /** Gets the project's own, or else the shared one of that name. @throws ServiceError `base_not_found` */
  get(ref: BaseRef): Promise<BaseRecord>
  /** Lists the boxes made from it that the caller may read. */
  usedBy(caller: Caller, record: BaseRecord): Promise<BaseUse>
  /** Lists a page: `project` `-` selects every project the caller may read, null the shared bases. */
  list(
    caller: Caller,
    project: string | null,
    query: BaseListQuery,
  ): Promise<{ records: BaseRecord[]; next: string | null }>
  /**
   * Deletes the record durably. Its space is freed later. Boxes made from it stay. Returns those that the caller may read. Aborts
   * the import of a base that is still being made.
   * @throws ServiceError `base_not_found`, `precondition_failed`, `permission_denied` for a shared one
   */
  remove(caller: Caller, ref: BaseRef, ifMatch: string | null): Promise<BaseUse>
}

/** Keeps bases as read-only subvolumes, of one project or shared by all. */
export function createBases(deps: BaseImportDeps): Bases {
  const { store } = deps
  const imports = createBaseImports(deps)
  const usedBy: Bases['usedBy'] = (caller, { id, project }) =>
    store.bases.usedBy(id, { projects: project === null ? caller.projects : [project], limit: USERS_MAX })
  const claim = async (caller: Caller, options: BaseOptions) => {
    const { name, idempotencyKey } = options
    const project = options.isShared ? sharedProject(caller) : options.project
    const earlier = await findOwnBase(deps, caller, { project, name, idempotencyKey })
    const createdBy = { token: caller.tokenId, idempotencyKey }
    return earlier
      ? { earlier }
      : { base: { project, name, createdBy }, requester: options.project, accounts: caller.accounts }
  }
  return {
    usedBy,
    create: async (caller, options) => {
      const claimed = await claim(caller, options)
      if ('earlier' in claimed) return claimed.earlier
      const { project } = options
      const { subvolume, source } = await findBoxSource(store, options)
      return makeBase(deps, { ...claimed.base, source }, async (name) => {
        try {
          await copyRoot(deps, options, { source: subvolume, project, name })
        } catch (error) {
          // The source may be deleted, or replaced, at any time.
          if ((await findBoxSource(store, options)).subvolume === subvolume) throw error
          throw refusal('box_busy', ['The box has another root by now.', 'Try again.'], { cause: error })
        }
      })
    },
    unpack: async (caller, options) => {
      const claimed = await claim(caller, options)
      if ('earlier' in claimed) return { record: claimed.earlier, report: null }
      const { isImage, bytes, waitMs } = options
      if (!isImage) return imports.tar({ ...claimed, bytes })
      return imports.image({ ...claimed, bytes }, { waitMs, requestId: caller.requestId })
    },
    pull: async (caller, options) => {
      const reference = parseImageReference(options.image)
      const claimed = await claim(caller, options)
      if ('earlier' in claimed) return { record: claimed.earlier, report: null }
      return imports.pull({ ...claimed, reference }, { waitMs: options.waitMs, requestId: caller.requestId })
    },
    get: (ref) => findBase(deps, ref),
    list: async (caller, project, query) => {
      const page = await store.bases.list(pageOf(caller, project, query))
      const last = page.records.at(-1)
      return {
        records: page.records,
        next: page.hasMore && last ? encodeCursor([last.project ?? '', last.name]) : null,
      }
    },
    remove: async (caller, ref, ifMatch) => {
      const project = ref.isShared ? sharedProject(caller) : ref.project
      const present = await madeHere(store, project, ref.name)
      if (present) checkIfMatch(ifMatch, present.id)
      const wasMade = await imports.cancel({ project, name: ref.name })
      const record = await madeHere(store, project, ref.name)
      if (!record && wasMade) return { boxes: [], count: 0 }
      if (!record) {
        const copy = await findCopy(deps, { project, name: ref.name })
        throw notFound(ref, copy && (await usedBy(caller, copy)).count)
      }
      const use = await usedBy(caller, record)
      if (!(await removeRecord(deps, record))) throw notFound(ref)
      return use
    },
  }
}

async function copyRoot(deps: BaseCreateDeps, { isShared }: BaseOptions, copy: WholeCopy): Promise<void> {
  if (isShared) return copyWhole(deps, copy)
  await deps.filesystem.snapshot({ ...copy, isReadOnly: true, quotaBytes: null })
}

/** Deletes a base, and gives its name up. Returns false if it is gone. */
async function removeRecord(
  { store, directory, reconciler, clock }: BaseCreateDeps,
  record: BaseRecord,
): Promise<boolean> {
  const home = baseHomeOf(record)
  const tombstone = { id: record.id, root: record.subvolume, createdAt: clock.now(), home }
  if (!(await store.bases.remove(record.id, tombstone))) return false
  reconciler.scheduleDestroy(tombstone)
  await releaseDeleted(directory, home)
  return true
}

/** Lists the names of the bases in the pool that all projects share. */
export async function sharedBaseNames({ bases }: Pick<Store, 'bases'>): Promise<string[]> {
  return (await bases.all()).flatMap(({ project, name }) => (project === null ? name : []))
}

async function findBase({ store, directory }: BaseCreateDeps, ref: BaseRef): Promise<BaseRecord> {
  const present = async (project: string | null): Promise<BaseRecord | null> => {
    const record = await store.bases.get(project, ref.name)
    const isCurrent = record?.cell === undefined || directory.bases.find(record)?.uid === record.id
    return isCurrent ? record : null
  }
  const record = (ref.isShared ? null : await present(ref.project)) ?? (await present(null))
  if (!record) throw notFound(ref)
  return record
}

/** Returns the base of that name that this cell made. When the cell deletes it, all copies go as well. */
async function madeHere({ bases }: Store, project: string | null, name: string): Promise<BaseRecord | null> {
  const record = await bases.get(project, name)
  return record?.cell === undefined ? record : null
}

/** Returns the copy of another cell's base of that name. */
async function findCopy({ store, directory }: BaseCreateDeps, ref: BaseName): Promise<BaseRecord | null> {
  const copy = await store.bases.get(ref.project, ref.name)
  return copy !== null && directory.bases.find(ref)?.uid === copy.id ? copy : null
}

/** Finds the base that an earlier send of this create made before a crash lost the answer. */
function findOwnBase(
  { store }: BaseCreateDeps,
  caller: Caller,
  { project, name, idempotencyKey }: { project: string | null; name: string; idempotencyKey: string | null },
): Promise<BaseRecord | null> {
  const find = async () => {
    const record = await store.bases.get(project, name)
    return record?.createdBy ? { ...record, createdBy: record.createdBy } : null
  }
  return findByIdempotencyKey(find, caller, idempotencyKey)
}

/** Checks that the caller may change shared bases, from which boxes of every project are made. Their project is null. */
function sharedProject({ permissions, projects }: Caller): null {
  if (permissions.includes('admin') && projects === '*') return null
  const why = '`permissions`: bases that all projects share need a token with "admin" for all projects ("*").'
  throw permissionDenied(why, 'Make the base in a project, or use the token of an operator.')
}

function pageOf(caller: Caller, project: string | null, query: BaseListQuery): BaseQuery {
  const after = decodeCursor(query.continuation_token, 2)
  return {
    projects: project === '-' ? caller.projects : project === null ? null : [project],
    prefix: query.prefix ?? '',
    after: after && { project: after[0] ?? '', name: after[1] ?? '' },
    limit: query.max_results,
  }
}

/** Makes the error for a base of another cell. `copied` is the number of boxes made from its copy here, for a request over all cells. */
function notFound({ project, name, isShared }: BaseRef, copied: number | null = null): ServiceError {
  const where = isShared ? 'that all projects share' : `in project "${project}"`
  const headers = copied === null ? {} : { 'x-used-by-count': String(copied) }
  return new ServiceError('base_not_found', `No base named "${name}" ${where}.`, { headers })
}

const USERS_MAX = 100
