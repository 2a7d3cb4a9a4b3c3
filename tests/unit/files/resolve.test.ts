import fs from 'node:fs'
import { expect, test } from '@jest/globals'
import { reopenDirectories } from '../../../agent/drivers/files/resolve.ts'
import { closeFd } from '../../../agent/lib/syscalls/descriptors.ts'

test('directories are opened all or none', () => {
  const fd = fs.openSync('/proc', 'r')
  const open = (): number => fs.readdirSync('/proc/self/fd').length
  try {
    const before = open()
    expect(() => reopenDirectories([fd, fd, -1])).toThrow(expect.objectContaining({ code: 'EBADF' }))
    expect(open()).toBe(before)
    const fds = reopenDirectories([fd, fd])
    expect(open()).toBe(before + 2)
    fds.forEach(closeFd)
  } finally {
    closeFd(fd)
  }
})
