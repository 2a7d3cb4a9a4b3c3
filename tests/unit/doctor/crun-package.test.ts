import { describe, expect, test } from '@jest/globals'
import { isOlderPackage, probeCrunPackage } from '../../../agent/doctor/probes/crun-package.ts'
import { CRUN_FIXED_PACKAGES, fixedPackageOf } from '../../../agent/drivers/host/crun-fixes.ts'

describe('package versions are compared as dpkg does', () => {
  test.each([
    ['1.8.1-1', '1.8.1-1+deb12u1', true],
    ['1.8.1-1+deb12u1', '1.8.1-1+deb12u1', false],
    ['1.8.1-1+deb12u1', '1.8.1-1+deb12u10', true],
    ['1.9-1', '1.21-1', true],
    ['1.28~rc1-1', '1.28-1', true],
    ['100:1.26-1', '1.28-1', false],
  ])('%s is older than %s: %s', async (version, other, expected) => {
    expect(await isOlderPackage(version, other)).toBe(expected)
  })
})

describe('the first fixed version', () => {
  test.each([
    ['Debian 12', 'PRETTY_NAME="Debian GNU/Linux 12"\nVERSION_ID="12"\nID=debian\n', CRUN_FIXED_PACKAGES['debian 12']],
    ['Debian 13', 'ID=debian\nVERSION_ID="13"\nID_LIKE=x\n', CRUN_FIXED_PACKAGES['debian 13']],
    ['Debian unstable', 'ID=debian\nVERSION_CODENAME=forky\n', '1.28-1'],
    ['a distribution that is not in the table', 'ID=ubuntu\nVERSION_ID="26.04"\n', null],
  ])('of %s is that of the table', (_what, osRelease, expected) => {
    expect(fixedPackageOf(osRelease)).toBe(expected ?? null)
  })
})

test('the crun of this host is compared by its package', async () => {
  expect(await probeCrunPackage('/usr/bin/crun')).toMatchObject({
    name: 'crun',
    installed: expect.stringMatching(/^1\./),
    lacks: null,
  })
})

test('a program that no package brought has none', async () => {
  expect(await probeCrunPackage(process.argv[1] ?? '')).toBeNull()
})
