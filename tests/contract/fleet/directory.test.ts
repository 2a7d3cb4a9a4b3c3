import { expect, test } from '@jest/globals'
import { createLocalDirectory } from '../../../agent/drivers/fleet/directory-local.ts'
import { claimOf, defineDirectorySuite } from './directory-suite.ts'

defineDirectorySuite('local', async () => ({ directory: createLocalDirectory(), close: async () => undefined }))

test('on a host without a fleet every name is here, and none is kept', async () => {
  const directory = createLocalDirectory()
  const here = { cell: directory.cell, epoch: 1, phase: 'Live', createdBy: null }
  expect(directory.find(claimOf('never-claimed'))).toEqual(here)
  expect(await directory.read(claimOf('never-claimed', { kind: 'volume' }))).toEqual(here)
  await directory.claim(claimOf('taken', { createdBy: 'ab'.repeat(32) }))
  expect(await directory.claim(claimOf('taken'))).toEqual(here)
})
