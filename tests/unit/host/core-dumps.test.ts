import { expect, test } from '@jest/globals'
import { isDumpInRoot } from '../../../agent/drivers/host/command-host.ts'

test.each([
  ['core.%p\n', '2\n', true],
  ['core\n', '0\n', true],
  ['/var/crash/core.%p\n', '0\n', true],
  ['/var/crash/core.%p\n', '1\n', true],
  ['/var/crash/core.%p\n', '2\n', false],
  ['/core\n', '2', false],
  ['|/usr/share/apport/apport %p\n', '0\n', false],
  ['@/run/systemd/coredump\n', '0\n', false],
])('with the pattern %j and suid_dumpable %j, a dump stays in the box: %j', (pattern, suidDumpable, isInRoot) => {
  expect(isDumpInRoot(pattern, suidDumpable)).toBe(isInRoot)
})
