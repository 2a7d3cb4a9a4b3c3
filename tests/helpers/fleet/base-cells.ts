import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bases, createBases } from '../../../agent/core/bases/bases.ts'
import { dropStaleCopies } from '../../../agent/core/fleet/base-copies.ts'
import { publishBases } from '../../../agent/core/fleet/base-names.ts'
import { NO_STORAGE_BOUNDS } from '../access/storage-bounds.ts'
import { openVolumeService, type VolumeService, type VolumeWorld } from '../volumes/service.ts'
import { createHomeTable, createTableDirectory, type HomeTable } from './table-directory.ts'

/** A cell of a fleet in one process, with a fake pool. It has boxes, and bases made from boxes. */
export interface BaseCell extends VolumeService {
  bases: Bases
  /** Publishes bases and drops stale copies, as a cell does at its start and every minute. Returns base names that another cell has. */
  publish(): Promise<string[]>
}

/** Cells that share one table as their directory, and send each other bases. */
export interface BaseCells {
  table: HomeTable
  /** Sent bases as `<from> <uid>`, in order. */
  sent: string[]
  /** Opens a cell. Pass `world` to reuse the pool of an earlier cell. */
  open(cell: string, world?: VolumeWorld): Promise<BaseCell>
  close(): void
}

/** Creates a fleet without cells. */
export function createBaseCells(): BaseCells {
  const folder = mkdtempSync(join(tmpdir(), 'boxyard-base-cells-'))
  const table = createHomeTable()
  const cells = new Map<string, BaseCell>()
  const sent: string[] = []
  table.sendBase = async ({ cell, uid }, signal) => {
    const owner = cells.get(cell)
    const record = (await owner?.store.bases.all())?.find((each) => each.id === uid && each.cell === undefined)
    if (owner === undefined || record === undefined) return null
    sent.push(`${cell} ${uid}`)
    return owner.filesystem.send({ name: record.subvolume, parent: null, signal })
  }
  return {
    table,
    sent,
    open: async (cell, world) => {
      const dataDir = join(folder, cell)
      mkdirSync(dataDir, { recursive: true })
      const directory = createTableDirectory(table, cell)
      const service = openVolumeService(() => Math.random() * 2, {
        ...{ dataDir, homes: directory },
        ...(world === undefined ? {} : { world }),
      })
      if (world === undefined) await service.addBase()
      else await service.reconciler.recover()
      const clock = { now: () => Date.now(), sleep: async () => undefined }
      const deps = { ...service, directory, clock, bounds: NO_STORAGE_BOUNDS, sizes: { count: () => undefined } }
      const bases = createBases({ ...deps, ...UNUSED })
      const publish = async (): Promise<string[]> => {
        const conflicts: string[] = []
        await publishBases(deps, ({ name }) => conflicts.push(name))
        await dropStaleCopies(deps)
        return conflicts
      }
      const opened: BaseCell = { ...service, bases, publish }
      cells.set(cell, opened)
      return opened
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Dependencies that only imports use. */
const UNUSED = { files: null, jobs: null, registry: null, architecture: 'amd64' } as never as {
  files: never
  jobs: never
  registry: never
  architecture: string
}
