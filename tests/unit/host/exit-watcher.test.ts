import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { afterEach, expect, jest, test } from '@jest/globals'
import { createExitWatcher } from '../../../agent/drivers/host/exit-watcher.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

test.each(['EACCES', 'EPERM', 'ESRCH'])(
  'a child whose user namespace cannot be read (%s) is no stray',
  async (code) => {
    const watcher = createExitWatcher(silentLogger)
    const child = spawn('true', { detached: true, stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const state = (): string => fs.readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    // Node reaps the child only after this turn of the event loop.
    while (!state().includes('(true) Z')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    const read = jest.spyOn(fs, 'readlinkSync').mockImplementation(() => {
      throw Object.assign(new Error(code), { code })
    })
    expect(() => watcher.collectStrays('true')).not.toThrow()
    expect(read).toHaveBeenCalled()
    await expect(ended).resolves.toBe(0)
    watcher.close()
  },
)
