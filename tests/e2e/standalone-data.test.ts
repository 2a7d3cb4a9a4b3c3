import { join } from 'node:path'
import { describe, test } from '@jest/globals'
import { objectsIn } from '../helpers/backup-lab.ts'
import { eventually } from '../helpers/eventually.ts'
import { useOwnService } from '../helpers/own-service.ts'
import { defineBackupsSuite } from './backups-suite.ts'
import { defineBoxSnapshotsSuite } from './box-snapshots-suite.ts'
import { defineConsolesSuite } from './consoles-suite.ts'
import { defineFilesSuite } from './files-suite.ts'
import { defineSnapshotFilesSuite } from './snapshot-files-suite.ts'
import { defineStreamsSuite } from './streams-suite.ts'
import { defineTicketsSuite } from './tickets-suite.ts'
import { defineVolumeCopiesSuite } from './volume-copies-suite.ts'
import { defineVolumeSnapshotsSuite } from './volume-snapshots-suite.ts'

const { client, service } = useOwnService()
const front = { url: () => service().url, token: () => service().adminToken }

describe('through the standalone front', () => {
  defineBoxSnapshotsSuite(client)
  defineVolumeSnapshotsSuite(client)
  defineVolumeCopiesSuite(client)
  defineBackupsSuite(client)
  test('nothing is left of backups that are all deleted', async () => {
    await eventually(() => objectsIn(join(service().dataDir, 'backups')).length === 0)
  })
  defineFilesSuite(client)
  defineSnapshotFilesSuite(client)
  defineConsolesSuite(client, front)
  defineStreamsSuite(client, front)
  defineTicketsSuite(client, { ...front, url: () => service().dataUrl, logs: () => service().logs })
})
