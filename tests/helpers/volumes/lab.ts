import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type BtrfsPool, openBtrfsPool } from '../../../agent/drivers/pool/cow-filesystem.ts'
import type { BoxSpec } from '../../../agent/ports/boxes/runtime.ts'
import { type OciLab, openOciLab } from '../boxes/oci-lab.ts'
import { silentLogger } from '../silent-logger.ts'

/** A runtime whose boxes have their roots and data volumes on one btrfs pool. */
export interface VolumeLab {
  lab: OciLab
  pool: BtrfsPool
  /** Starts a box with its own root. */
  startBox(id: string, changes?: Partial<BoxSpec>): Promise<BoxSpec>
  /** Creates an empty volume. Returns its host path. */
  makeVolume(name: string): Promise<string>
  /** Stops a box and destroys its root and these volumes. Throws if any is still in use. */
  dropBox(id: string, ...volumes: string[]): Promise<void>
  close(): Promise<void>
}

/** Opens a lab. The caller must close it. */
export async function openVolumeLab(): Promise<VolumeLab> {
  const dataDir = mkdtempSync(`${tmpdir()}/boxyard-volumes-`)
  const sizes = { initialBytes: 512 * MIB, stepBytes: 0, hostReserveBytes: 0 }
  const pool = await openBtrfsPool({ dataDir, runDir: `${dataDir}/run`, ...sizes, logger: silentLogger })
  const lab = await openOciLab()
  await pool.create('base', 'demo')
  execFileSync('cp', ['-a', `${lab.makeRoot('base')}/.`, pool.path('base')])
  return {
    lab,
    pool,
    startBox: async (id, changes = {}) => {
      await pool.snapshot({
        source: 'base',
        name: `sub_${id}`,
        project: 'demo',
        isReadOnly: false,
        quotaBytes: 64 * MIB,
      })
      const spec = { ...lab.spec(id), rootPath: pool.path(`sub_${id}`), ...changes }
      await lab.runtime.start(spec)
      return spec
    },
    makeVolume: async (name) => {
      await pool.create(name, 'demo')
      return pool.path(name)
    },
    dropBox: async (id, ...volumes) => {
      await lab.runtime.stop(id, { graceMs: 0 })
      for (const name of [`sub_${id}`, ...volumes]) await pool.destroy(name)
    },
    close: async () => {
      await lab.close()
      await pool.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Returns the mount table of a process, by default of this one. */
export function mountTable(pid: number | null | 'self' = 'self'): string[] {
  return readFileSync(`/proc/${pid}/mountinfo`, 'utf8').trim().split('\n')
}

/** Returns the host pid of a running box's init. */
export async function initOf({ runtime }: OciLab, boxId: string): Promise<number> {
  const box = (await runtime.list()).find(({ id }) => id === boxId)
  if (box === undefined || box.pid === null) throw new Error(`${boxId} does not run`)
  return box.pid
}

const MIB = 1024 * 1024
