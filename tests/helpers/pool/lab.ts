import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type BtrfsPool, openBtrfsPool } from '../../../agent/drivers/pool/cow-filesystem.ts'
import { silentLogger } from '../silent-logger.ts'

/** A pool in a temporary directory. */
export interface PoolLab {
  pool: BtrfsPool
  directory: string
  /** Takes a read-only snapshot. */
  freeze(source: string, name: string): Promise<void>
  /** Takes a writable snapshot. */
  copy(source: string, name: string): Promise<void>
  /** Closes and reopens the pool. */
  reopen(): Promise<PoolLab>
  close(): Promise<void>
}

export function openPoolLab(initialBytes: number): Promise<PoolLab> {
  return openLabIn(fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-lab-')), initialBytes)
}

async function openLabIn(directory: string, initialBytes: number): Promise<PoolLab> {
  const runDir = path.join(directory, 'run')
  const pool = await openBtrfsPool({
    dataDir: directory,
    runDir,
    initialBytes,
    stepBytes: 0,
    hostReserveBytes: 0,
    logger: silentLogger,
  })
  return {
    pool,
    directory,
    freeze: (source, name) => pool.snapshot({ source, name, project: 'demo', isReadOnly: true, quotaBytes: null }),
    copy: (source, name) => pool.snapshot({ source, name, project: 'demo', isReadOnly: false, quotaBytes: null }),
    reopen: async () => {
      await pool.close()
      return openLabIn(directory, initialBytes)
    },
    close: async () => {
      await pool.close()
      fs.rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Runs a shell line in a directory and returns its stdout. Throws if it fails. */
export function shellAt(directory: string, line: string): string {
  return execFileSync('bash', ['-ec', line], { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
