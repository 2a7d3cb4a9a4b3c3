import { ServiceError } from '../../../shared/errors.ts'
import type { BaseListQuery } from '../../../shared/schemas/bases.ts'
import type { BaseQuery, BaseRecord, BaseUse } from '../../ports/store/bases.ts'
import type { Caller } from '../common/caller.ts'
import { findByIdempotencyKey } from '../common/create-record.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { type BaseCreateDeps, findBoxSource, makeBase } from './create.ts'
import { parseImageReference } from './image-reference.ts'
import { type BaseImportDeps, createBaseImports, type Imported } from './import.ts'

/** A base by its path; `isShared`: the one that all projects share. */
export interface BaseRef {
  project: string
  name: string
  isShared: boolean
}

/** A base that is asked for, of a project or shared. */
export interface BaseOptions {
  project: string
  name: string
  isShared: boolean
  idempotencyKey: string | null
}

/** Of the root of a box as it is now, or as it was in a snapshot. */
export interface BoxBaseOptions extends BaseOptions {
  box: string
  snapshot: string | undefined
}

/** Of an archive, as it comes. */
export interface ArchiveBaseOptions extends BaseOptions {
  isImage: boolean
  bytes: AsyncIterable<Uint8Array>
  waitMs: number
}

/** Of an image of a registry. */
export interface PulledBaseOptions extends BaseOptions {
  image: string
  waitMs: number
}

/** The bases of the API. */
export interface Bases {
  /** @throws ServiceError `box_not_found`, `snapshot_not_found`, `name_taken`, `permission_denied` for a shared one */
  create(caller: Caller, wish: BoxBaseOptions): Promise<BaseRecord>
  /**
   * Of the tar of a root filesystem, or the archive of an image; the id of the operation of one that outlives its wait.
   * @throws ServiceError `name_taken`, `permission_denied`, `rate_limited`, `invalid_request`, `body_too_large`
   */
  unpack(caller: Caller, wish: ArchiveBaseOptions): Promise<Imported>
  /**
   * Of an image of a registry, as `unpack`.
   * @throws ServiceError `name_taken`, `permission_denied`, `rate_limited`, `invalid_request`, `body_too_large`, and `internal` for
   * a registry that does not answer
   */
  pull(caller: Caller, wish: PulledBaseOptions): Promise<Imported>
  /** The project's own, or else the shared one of that name. @throws ServiceError `base_not_found` */
  get(ref: BaseRef): Promise<BaseRecord>
  /** The boxes in the caller's reach that were made from it. */
  usedBy(caller: Caller, record: BaseRecord): Promise<BaseUse>
  /** `project` `-` is every one the caller may read, null those that all share. */
  list(
    caller: Caller,
    project: string | null,
    query: BaseListQuery,
  ): Promise<{ records: BaseRecord[]; next: string | null }>
  /**
   * Resolves once the record is gone for good; space follows. What was made from it stays. Gives the boxes in the caller's reach
   * that were. A base that is being made of an image is ended instead.
   * @throws ServiceError `base_not_found`, `precondition_failed`, `permission_denied` for a shared one
   */
  remove(caller: Caller, ref: BaseRef, ifMatch: string | null): Promise<BaseUse>
}

/** Bases are read-only subvolumes, of one project or shared by all. */
export function createBases(deps: BaseImportDeps): Bases {
  const { store, filesystem, reconciler, clock } = deps
  const imports = createBaseImports(deps)
  const usedBy: Bases['usedBy'] = (caller, { id, project }) =>
    store.bases.usedBy(id, { projects: project === null ? caller.projects : [project], limit: USERS_MAX })
  const wantedBy = async (caller: Caller, wish: BaseOptions) => {
    const { name, idempotencyKey } = wish
    const project = wish.isShared ? sharedProject(caller) : wish.project
    const earlier = await findOwnBase(deps, caller, { project, name, idempotencyKey })
    const createdBy = { token: caller.tokenId, idempotencyKey }
    return earlier ? { earlier } : { base: { project, name, createdBy }, asker: wish.project }
  }
  return {
    usedBy,
    create: async (caller, wish) => {
      const wanted = await wantedBy(caller, wish)
      if ('earlier' in wanted) return wanted.earlier
      const { subvolume, source } = await findBoxSource(store, wish)
      return makeBase(deps, { ...wanted.base, source }, async (name) => {
        try {
          await filesystem.snapshot({ source: subvolume, name, isReadOnly: true, quotaBytes: null })
        } catch (error) {
          // What it is made of may be deleted, or replaced, at any time.
          if ((await findBoxSource(store, wish)).subvolume === subvolume) throw error
          throw new ServiceError('box_busy', 'The box has another root by now; try again.', { cause: error })
        }
      })
    },
    unpack: async (caller, wish) => {
      const wanted = await wantedBy(caller, wish)
      if ('earlier' in wanted) return { record: wanted.earlier, report: null }
      const { isImage, bytes, waitMs } = wish
      if (!isImage) return imports.tar({ ...wanted, bytes })
      return imports.image({ ...wanted, bytes }, { waitMs, requestId: caller.requestId })
    },
    pull: async (caller, wish) => {
      const reference = parseImageReference(wish.image)
      const wanted = await wantedBy(caller, wish)
      if ('earlier' in wanted) return { record: wanted.earlier, report: null }
      return imports.pull({ ...wanted, reference }, { waitMs: wish.waitMs, requestId: caller.requestId })
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
      const present = await store.bases.get(project, ref.name)
      if (present) checkIfMatch(ifMatch, present.id)
      const wasMade = await imports.cancel({ project, name: ref.name })
      const record = await store.bases.get(project, ref.name)
      if (!record && wasMade) return { boxes: [], count: 0 }
      if (!record) throw notFound(ref)
      const use = await usedBy(caller, record)
      const tombstone = { id: record.id, root: record.subvolume, createdAt: clock.now() }
      if (!(await store.bases.remove(record.id, tombstone))) throw notFound(ref)
      reconciler.scheduleDestroy(tombstone)
      return use
    },
  }
}

async function findBase({ store }: BaseCreateDeps, ref: BaseRef): Promise<BaseRecord> {
  const own = ref.isShared ? null : await store.bases.get(ref.project, ref.name)
  const record = own ?? (await store.bases.get(null, ref.name))
  if (!record) throw notFound(ref)
  return record
}

/** What the same create made, sent again after an answer that a crash of ours swallowed. */
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

/** Where shared bases are, for whoever may change them: every project's boxes may be made from them. */
function sharedProject({ permissions, projects }: Caller): null {
  if (permissions.includes('admin') && projects === '*') return null
  const detail = 'Bases that all projects share need a token with "admin" on all projects.'
  throw new ServiceError('permission_denied', detail)
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

function notFound({ project, name, isShared }: BaseRef): ServiceError {
  const where = isShared ? 'is shared by all projects' : `in project "${project}"`
  return new ServiceError('base_not_found', `No base named "${name}" ${where}.`)
}

const USERS_MAX = 100
