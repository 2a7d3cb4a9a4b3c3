import { join } from 'node:path'
import { describe, test } from '@jest/globals'
import { objectsIn } from '../helpers/backups/lab.ts'
import { eventually } from '../helpers/eventually.ts'
import { useSharedService } from '../helpers/own-service.ts'
import { defineTicketsSuite } from './access/tickets-suite.ts'
import { defineBackupsSuite } from './backups/suite.ts'
import { defineConsolesSuite } from './exec/consoles-suite.ts'
import { defineStreamsSuite } from './exec/streams-suite.ts'
import { defineFilesSuite } from './files/suite.ts'
import { defineBoxSnapshotsSuite } from './snapshots/box-snapshots-suite.ts'
import { defineSnapshotFilesSuite } from './snapshots/files-suite.ts'
import { defineVolumeCopiesSuite } from './volumes/copies-suite.ts'
import { defineVolumeSnapshotsSuite } from './volumes/snapshots-suite.ts'

const { client, service } = useSharedService()
const front = { url: () => service().url, token: () => service().adminToken }

const SUITES = [
  () => defineBoxSnapshotsSuite(client),
  () => defineVolumeSnapshotsSuite(client),
  () => defineVolumeCopiesSuite(client),
  () => {
    defineBackupsSuite(client)
    test('nothing is left of backups that are all deleted', async () => {
      await eventually(() => objectsIn(join(service().dataDir, 'backups')).length === 0)
    })
  },
  () => defineFilesSuite(client),
  () => defineSnapshotFilesSuite(client),
  () => defineConsolesSuite(client, front),
  () => defineStreamsSuite(client, front),
  () => defineTicketsSuite(client, { ...front, url: () => service().dataUrl, logs: () => service().logs }),
]

describe('through the standalone front', () => {
  for (const define of SUITES) define()
})
