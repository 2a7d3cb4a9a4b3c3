import { describe, expect, test } from '@jest/globals'
import { initFailure } from '../../../agent/drivers/boxes/init.ts'
import { fullDiskOf } from '../../../agent/lib/program-error.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { isErrno } from '../../../agent/lib/syscalls/libc.ts'
import { asServiceError, ServiceError } from '../../../shared/errors.ts'

/** Texts that programs print on stderr, and the errors they mean. */
const TEXTS = [
  ['ERROR: writing to a/b failed: No space left on device', 'ENOSPC'],
  ['At subvol x\nERROR: truncate a failed: Disk quota exceeded\n', 'EDQUOT'],
  ['ERROR: send ioctl failed with -28: No space left on device', 'ENOSPC'],
  ['ERROR: send ioctl failed with -122: Disk quota exceeded', 'EDQUOT'],
  ['tar: root/x: Cannot write: No space left on device\ntar: Exiting with failure status', 'ENOSPC'],
  ["cp: error writing '/b': No space left on device", 'ENOSPC'],
  ["install: cannot create directory '/run/x': Disk quota exceeded", 'EDQUOT'],
  ['mkfs.btrfs: ERROR: failed to write superblock: No space left on device', 'ENOSPC'],
  ['zstd: error 70 : Write error : cannot write block : No space left on device', 'ENOSPC'],
  ["mkfifo: cannot create fifo 'node.fifo': No space left on device", 'ENOSPC'],
  ['E: write: 28: No space left on device', 'ENOSPC'],
  ['dpkg: error processing archive x.deb: cannot copy: write (No space left on device)', 'ENOSPC'],
  ['unshare: unshare failed: No space left on device', undefined],
  ['crun: clone: No space left on device', undefined],
  ['inotify_add_watch: No space left on device', undefined],
  ['write /sys/fs/cgroup/a/cgroup.procs: No space left on device', undefined],
  ['ERROR: cannot open a: Input/output error', undefined],
  ['', undefined],
] as const

describe('a program that ran out of room says so in words only, and its error has the code', () => {
  test.each(TEXTS)('%s', async (text, code) => {
    expect(fullDiskOf(text)).toBe(code)
    const failed = runOk('sh', ['-c', 'printf %s "$1" >&2; exit 3', 'sh', text])
    const error: unknown = await failed.then(
      () => null,
      (reason: unknown) => reason,
    )
    expect(error).toMatchObject({ name: 'CommandError', exitCode: 3, code })
    expect(isErrno(error, 'ENOSPC', 'EDQUOT')).toBe(code !== undefined)
    const { status } = asServiceError(error)
    expect(status).toBe(code === undefined ? 500 : 507)
  })

  test.each([
    ['crun: mkdir `/run/x`: No space left on device', 507],
    ['crun: open `/run/x`: Disk quota exceeded', 507],
    ['crun: unshare: No space left on device', 500],
    ['crun was killed', 500],
  ])('a box does not start: %s', (reason, status) => {
    expect(initFailure(reason)).toMatchObject({ status, cause: { message: reason } })
  })
})

describe('an error of a system call that nothing else converts', () => {
  const failed = (fields: object): Error => Object.assign(new Error('failed'), fields)

  test.each([
    [{ code: 'ENOSPC', errno: -28, syscall: 'mkdir' }, 507],
    [{ code: 'Unknown system error -122', errno: -122, syscall: 'write' }, 507],
    [{ code: 'EDQUOT', errno: 122, syscall: 'renameat2' }, 507],
    [{ code: 'ENOSPC', errno: -28, syscall: 'watch' }, 500],
    [{ code: 'ENOSPC', errno: 28, syscall: 'unshare' }, 500],
    [{ code: 'EIO', errno: -5, syscall: 'write' }, 500],
    [{}, 500],
  ])('%j', (fields, status) => {
    const error = failed(fields)
    expect(asServiceError(error)).toMatchObject({ status, cause: error })
  })

  test('a service error stays as it is', () => {
    const error = new ServiceError('box_busy', 'It is busy.')
    expect(asServiceError(error)).toBe(error)
  })
})
