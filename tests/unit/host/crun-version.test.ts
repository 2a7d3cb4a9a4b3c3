import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CRUN_MIN_VERSION, checkCrunVersion, isOlderVersion } from '../../../agent/drivers/host/crun-version.ts'

let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-crun-'))
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Writes a program that prints `text`, and returns its path. */
function programSaying(name: string, text: string): string {
  const path = join(directory, name)
  writeFileSync(path, `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`, { mode: 0o755 })
  return path
}

test('the crun of this host is in the range', async () => {
  const version = await checkCrunVersion('/usr/bin/crun')
  expect(isOlderVersion(version, CRUN_MIN_VERSION)).toBe(false)
})

test.each([
  ['1.21', 'crun version 1.21\ncommit: 10269840aa07fb7e6b7e1acff6198692d8ff5c88'],
  ['1.8.1', 'crun version 1.8.1\ncommit: f8a0'],
])('version %s is taken', async (version, text) => {
  expect(await checkCrunVersion(programSaying(version, text))).toBe(version)
})

test('an older one is refused, and the refusal names both versions', async () => {
  const refused = checkCrunVersion(programSaying('old', 'crun version 1.4.5'))
  await expect(refused).rejects.toThrow(/old is crun 1\.4\.5, but crun 1\.8 or newer is required/)
})

test('another runtime is refused with what it said', async () => {
  const refused = checkCrunVersion(programSaying('runc', 'runc version 1.1.5+ds1'))
  await expect(refused).rejects.toThrow(/does not name crun .*runc version 1\.1\.5/)
})

test.each([
  ['1.8', '1.8', false],
  ['1.8.1', '1.8', false],
  ['1.7.9', '1.8', true],
  ['1.21', '1.8', false],
  ['0.99', '1.8', true],
  ['2', '1.8', false],
])('%s beside %s', (version, minimum, isOlder) => {
  expect(isOlderVersion(version, minimum)).toBe(isOlder)
})
