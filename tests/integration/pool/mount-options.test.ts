import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from '@jest/globals'
import { openBtrfsPool } from '../../../agent/drivers/pool/cow-filesystem.ts'
import { poolOptions } from '../../../agent/drivers/pool/mount.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

test("the kernel's threads for a pool are bounded by the processors of the host", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-pool-'))
  const pool = await openBtrfsPool({
    ...{ dataDir: directory, runDir: path.join(directory, 'run'), initialBytes: 256 * 1024 ** 2, stepBytes: 0 },
    ...{ hostReserveBytes: 0, logger: silentLogger },
  })
  try {
    const mountPath = path.dirname(pool.path('x'))
    const mounts = fs.readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
    const line = mounts.find((text) => text.includes(mountPath)) ?? ''
    const cpus = os.availableParallelism()
    // The kernel omits the option if it equals the kernel's default.
    const [, shown = String(Math.min(cpus + 2, 8))] = /thread_pool=(\d+)/.exec(line) ?? []
    expect(poolOptions(cpus)).toContain(`thread_pool=${shown}`)
  } finally {
    await pool.close()
    fs.rmSync(directory, { recursive: true, force: true })
  }
})
