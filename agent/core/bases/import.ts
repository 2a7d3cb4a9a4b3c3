import { asServiceError, type ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { ImageReference, ImageRegistry } from '../../ports/bases/image-registry.ts'
import type { FilesPlace, UnpackReport } from '../../ports/files/files.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Jobs } from '../operations/jobs.ts'
import { type BaseCreateDeps, checkWanted, makeBase, type WantedBase } from './create.ts'
import { type BaseImageDeps, type ImageRun, spoolImage, unpackImage } from './image.ts'
import { type BaseName, createMakingBases, type MakingBases } from './making-bases.ts'
import { pullImage } from './pull.ts'
import { createBaseUploads, unpackBase } from './unpack.ts'

export interface BaseImportDeps extends BaseCreateDeps, BaseImageDeps {
  jobs: Jobs
  registry: ImageRegistry
}

/** A base that a project asks for. */
interface Wanted {
  base: Omit<WantedBase, 'source'>
  asker: string
}

/** A base of an archive, which comes on behalf of a project. */
export interface WantedImport extends Wanted {
  bytes: AsyncIterable<Uint8Array>
}

/** A base of an image of a registry. */
export interface WantedPull extends Wanted {
  reference: ImageReference
}

/** How long an image is waited for, and whose operation goes on when that is over. */
export interface ImportWait {
  waitMs: number
  requestId: string
}

/** A base, and what became of its archive. */
export interface ImportedBase {
  record: BaseRecord
  /** Null where it was made before by the same request. */
  report: UnpackReport | null
}

/** A base, or the id of the operation that makes it. */
export type Imported = ImportedBase | { operation: string }

/** Bases of archives and images. All throw `rate_limited` where as many are under way as may be. */
export interface BaseImports {
  /** Of the tar of a root filesystem. */
  tar(wanted: WantedImport): Promise<ImportedBase>
  /** Of the archive of an image: once all of it is here the rest goes on by itself; then the id of its operation. */
  image(wanted: WantedImport, wait: ImportWait): Promise<Imported>
  /** Of an image of a registry, all of which goes on by itself. */
  pull(wanted: WantedPull, wait: ImportWait): Promise<Imported>
  /** Ends what goes on by itself for a base of that name; whether there was something. */
  cancel(base: BaseName): Promise<boolean>
}

/** What comes in is bounded by all together, also while it is only worked on. */
export function createBaseImports(deps: BaseImportDeps): BaseImports {
  const uploads = createBaseUploads()
  const making = createMakingBases()
  // `end` is for `begin` to call once all is done; where that rejects it is called here too.
  const withSpool = async (
    { base, asker }: Wanted,
    begin: (spool: string, end: () => void) => Promise<Imported>,
  ): Promise<Imported> => {
    const leave = uploads.enter(asker)
    const spool = newSpool(deps)
    const end = (): void => {
      deps.reconciler.scheduleDestroy(spool.tombstone)
      leave()
    }
    try {
      await checkWanted(deps, base)
      await deps.store.tombstones.insert(spool.tombstone)
      return await begin(spool.name, end)
    } catch (error) {
      end()
      throw error
    }
  }
  return {
    tar: async ({ base, asker, bytes }) => {
      const leave = uploads.enter(asker)
      try {
        let report: UnpackReport | null = null
        const record = await makeBase(deps, { ...base, source: 'tar' }, async (subvolume) => {
          report = await unpackBase(deps, subvolume, bytes)
        })
        return { record, report }
      } finally {
        leave()
      }
    },
    image: (wanted, wait) =>
      withSpool(wanted, async (spool, end) => {
        const place = await spoolImage(deps, spool, wanted.bytes)
        const work: Work = (run) => makeOfSpool(deps, wanted.base, { place, source: 'oci', run })
        return inBackground(deps, wanted, { ...wait, making, end, work })
      }),
    pull: (wanted, wait) =>
      withSpool(wanted, (spool, end) => {
        const work: Work = async (run) => {
          const half = (from: number): ImageRun => ({ ...run, progress: (share) => run.progress(from + share / 2) })
          const pulled = await pullImage(deps, { reference: wanted.reference, spool }, half(0))
          return makeOfSpool(deps, wanted.base, { ...pulled, run: half(0.5) })
        }
        return inBackground(deps, wanted, { ...wait, making, end, work })
      }),
    cancel: (base) => making.cancel(base),
  }
}

type Work = (run: ImageRun) => Promise<ImportedBase>

interface Background extends ImportWait {
  making: MakingBases
  end(): void
  work: Work
}

// Throws only before the work is begun, or what ended it: `end` is called in both cases, and may be called twice.
async function inBackground(deps: BaseImportDeps, { base, asker }: Wanted, background: Background): Promise<Imported> {
  const { making, end, work, waitMs, requestId } = background
  const result: { made?: ImportedBase; fault?: ServiceError } = {}
  const resource = `/v1/projects/${asker}/bases/${base.name}`
  const entry = making.enter(base)
  const job = { kind: 'base.import', project: asker, resource, requestId }
  const operation = await deps.jobs
    .start(job, async ({ signal: closing, progress }) => {
      const signal = AbortSignal.any([closing, entry.signal])
      try {
        result.made = await work({ signal, progress })
      } catch (error) {
        // What was cut off may say something else.
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
  base: Wanted['base'],
  { place, source, run }: { place: FilesPlace; source: string; run: ImageRun },
): Promise<ImportedBase> {
  let report: UnpackReport | null = null
  const record = await makeBase(deps, { ...base, source }, async (subvolume) => {
    report = await unpackImage(deps, { subvolume, spool: place }, run)
  })
  return { record, report }
}

/** Where an archive is until it is unpacked: never longer than this agent lives. */
function newSpool({ clock }: BaseImportDeps) {
  const createdAt = clock.now()
  const name = newId('bas', createdAt).replace(/^bas/, 'tmp')
  return { name, tombstone: { id: name, root: name, createdAt } }
}
