import { asServiceError, ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { projectOwner } from '../../../shared/rotation.ts'
import type { ImageReference, ImageRegistry } from '../../ports/bases/image-registry.ts'
import type { FilesRoot, UnpackReport } from '../../ports/files/files.ts'
import type { BaseName } from '../../ports/fleet/bases.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Jobs } from '../operations/jobs.ts'
import { type BaseCreateDeps, type BaseRequest, checkCreatable, makeBase } from './create.ts'
import { type BaseImageDeps, type ImageRun, pullImage, spoolImage, unpackImage } from './image.ts'
import { createBaseUploads, type NewTree, unpackBase } from './unpack.ts'

export interface BaseImportDeps extends BaseCreateDeps, BaseImageDeps {
  jobs: Jobs
  registry: ImageRegistry
}

/** A requested base, and the project that requests it. */
interface ImportRequest {
  base: Omit<BaseRequest, 'source'>
  requester: string
  /** The accounts that share concurrent imports. */
  accounts: readonly string[]
}

/** A base to import from an archive. */
export interface ArchiveImport extends ImportRequest {
  bytes: AsyncIterable<Uint8Array>
}

/** A base to import from a registry. */
export interface RegistryImport extends ImportRequest {
  reference: ImageReference
}

/** How long the request waits for an image. After that its operation continues in the background. */
export interface ImportWait {
  waitMs: number
  requestId: string
}

/** A base, and the report of unpacking its archive. */
export interface ImportedBase {
  record: BaseRecord
  /** Null if an earlier request with the same idempotency key made it. */
  report: UnpackReport | null
}

/** A base, or the id of the operation that makes it. */
export type Imported = ImportedBase | { operation: string }

/** Imports archives and images as bases. All throw `rate_limited` at the bound of concurrent imports. */
export interface BaseImports {
  /** Imports the tar of a root filesystem. */
  tar(request: ArchiveImport): Promise<ImportedBase>
  /** Imports the archive of an image. Once received it is unpacked in the background, as an operation. */
  image(request: ArchiveImport, wait: ImportWait): Promise<Imported>
  /** Pulls an image of a registry in the background, as an operation. */
  pull(request: RegistryImport, wait: ImportWait): Promise<Imported>
  /** Aborts the background import of that name. Returns false if there was none. */
  cancel(base: BaseName): Promise<boolean>
}

/** Bounds concurrent imports, those in the background included, by one limit that projects share. */
export function createBaseImports(deps: BaseImportDeps): BaseImports {
  const uploads = createBaseUploads()
  const running = createBackgroundImports()
  // `begin` calls `end` once all is done. It is also called here if `begin` rejects.
  const withSpool = async (
    { base, accounts }: ImportRequest,
    begin: (spool: NewTree, end: () => void) => Promise<Imported>,
  ): Promise<Imported> => {
    const leave = uploads.enter(accounts)
    const spool = newSpool(deps)
    const end = (): void => {
      deps.reconciler.scheduleDestroy(spool.tombstone)
      leave()
    }
    try {
      await checkCreatable(deps, base)
      await deps.store.tombstones.insert(spool.tombstone)
      return await begin({ subvolume: spool.name, project: base.project }, end)
    } catch (error) {
      end()
      throw error
    }
  }
  return {
    tar: async ({ base, requester, accounts, bytes }) => {
      const leave = uploads.enter(accounts)
      try {
        let report: UnpackReport | null = null
        const record = await makeBase(deps, { ...base, source: 'tar' }, async (subvolume) => {
          report = await unpackBase(
            { ...deps, owner: projectOwner(requester) },
            { subvolume, project: base.project },
            bytes,
          )
        })
        return { record, report }
      } finally {
        leave()
      }
    },
    image: (request, wait) =>
      withSpool(request, async (spool, end) => {
        const owned = { ...deps, owner: projectOwner(request.requester) }
        const root = await deps.bounds.explaining(spool.project, () => spoolImage(owned, spool, request.bytes))
        const work: Work = (run) => makeOfSpool(owned, request.base, { root, source: 'oci', run })
        return inBackground(deps, request, { ...wait, running, end, work })
      }),
    pull: (request, wait) =>
      withSpool(request, (spool, end) => {
        const owned = { ...deps, owner: projectOwner(request.requester) }
        const work: Work = async (run) => {
          const half = (from: number): ImageRun => ({ ...run, progress: (share) => run.progress(from + share / 2) })
          const pull = () => pullImage(owned, { reference: request.reference, spool }, half(0))
          const pulled = await deps.bounds.explaining(spool.project, pull)
          return makeOfSpool(owned, request.base, { ...pulled, run: half(0.5) })
        }
        return inBackground(deps, request, { ...wait, running, end, work })
      }),
    cancel: (base) => running.cancel(base),
  }
}

type Work = (run: ImageRun) => Promise<ImportedBase>

interface Background extends ImportWait {
  running: BackgroundImports
  end(): void
  work: Work
}

// Calls `end` when the job fails to start or ends. `end` may be called twice.
async function inBackground(
  deps: BaseImportDeps,
  { base, requester }: ImportRequest,
  background: Background,
): Promise<Imported> {
  const { running, end, work, waitMs, requestId } = background
  const result: { made?: ImportedBase; fault?: ServiceError } = {}
  const resource = `/v1/projects/${requester}/bases/${base.name}`
  const entry = running.enter(base)
  const job = { kind: 'base.import', project: requester, resource, requestId }
  const operation = await deps.jobs
    .start(job, async ({ signal: closing, progress }) => {
      const signal = AbortSignal.any([closing, entry.signal])
      try {
        result.made = await work({ signal, progress })
      } catch (error) {
        // After an abort the work may fail with another error than its cause.
        const fault: unknown = signal.aborted ? signal.reason : error
        result.fault = asServiceError(fault)
        throw fault
      } finally {
        end()
        entry.end()
      }
    })
    .catch((error: unknown) => {
      entry.end()
      throw error
    })
  await deps.jobs.wait(operation, waitMs)
  if (result.made) return result.made
  if (result.fault) throw result.fault
  return { operation }
}

async function makeOfSpool(
  deps: BaseImportDeps,
  base: ImportRequest['base'],
  { root, source, run }: { root: FilesRoot; source: string; run: ImageRun },
): Promise<ImportedBase> {
  let report: UnpackReport | null = null
  const record = await makeBase(deps, { ...base, source }, async (subvolume) => {
    report = await unpackImage(deps, { tree: { subvolume, project: base.project }, spool: root }, run)
  })
  return { record, report }
}

/** Names a subvolume that holds an archive until it is unpacked. Its tombstone removes it after a crash. */
function newSpool({ clock }: BaseImportDeps) {
  const createdAt = clock.now()
  const name = newId('bas', createdAt).replace(/^bas/, 'tmp')
  return { name, tombstone: { id: name, root: name, createdAt } }
}

/** Tracks the imports that run in the background, so that deleting a base aborts its import. */
interface BackgroundImports {
  /** Registers one: `signal` aborts on `cancel`. The caller calls `end` once it has ended. */
  enter(base: BaseName): { signal: AbortSignal; end(): void }
  /** Aborts the imports of that name and resolves once they have ended. Returns false if there were none. */
  cancel(base: BaseName): Promise<boolean>
}

function createBackgroundImports(): BackgroundImports {
  const running = new Set<BaseName & { controller: AbortController; ended: Promise<void> }>()
  return {
    enter: ({ project, name }) => {
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      const entry = { project, name, controller: new AbortController(), ended }
      running.add(entry)
      return {
        signal: entry.controller.signal,
        end: () => {
          running.delete(entry)
          resolve()
        },
      }
    },
    cancel: async ({ project, name }) => {
      const found = [...running].filter((entry) => entry.project === project && entry.name === name)
      const why = new ServiceError('base_not_found', `The base "${name}" was deleted during its creation.`)
      for (const { controller } of found) controller.abort(why)
      await Promise.all(found.map(({ ended }) => ended))
      return found.length > 0
    },
  }
}
