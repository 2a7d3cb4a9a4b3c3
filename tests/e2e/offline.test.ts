import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { dieWithParent, ROOT } from '../../infra/commands.ts'
import { startLoggingChild } from '../../infra/logging-child.ts'
import { stopChild } from '../../infra/service-process.ts'
import { startRegistry, type TestRegistry } from '../helpers/bases/registry.ts'
import { createClient } from '../helpers/front/client.ts'
import { draw } from '../helpers/sample.ts'
import { freePort, startService, type TestService } from '../helpers/service.ts'
import { defineTicketsSuite } from './access/tickets-suite.ts'
import { defineTokensSuite } from './access/tokens-suite.ts'
import { defineBackupsSuite } from './backups/suite.ts'
import { definePulledBasesSuite } from './bases/pulled-bases-suite.ts'
import { defineBasesSuite } from './bases/suite.ts'
import { defineForksSuite } from './boxes/forks-suite.ts'
import { defineIdleSuite } from './boxes/idle-suite.ts'
import { defineBoxesSuite } from './boxes/suite.ts'
import { defineUpdatesSuite } from './boxes/updates-suite.ts'
import { defineUrlsSuite } from './edge/urls-suite.ts'
import { defineEventsSuite } from './events/suite.ts'
import { defineInputSuite } from './exec/input-suite.ts'
import { defineExecRecordsSuite } from './exec/records-suite.ts'
import { defineExecSuite } from './exec/suite.ts'
import { defineFilesSuite } from './files/suite.ts'
import { defineStorageSuite } from './pool/storage-suite.ts'
import { defineDeploysSuite } from './services/deploys-suite.ts'
import { defineServicesSuite } from './services/suite.ts'
import { defineBoxSnapshotsSuite } from './snapshots/box-snapshots-suite.ts'
import { defineSnapshotDiffSuite } from './snapshots/diff-suite.ts'
import { defineSnapshotFilesSuite } from './snapshots/files-suite.ts'
import { defineSpecificationSuite } from './specification-suite.ts'
import { defineVolumeCopiesSuite } from './volumes/copies-suite.ts'
import { defineVolumeSnapshotsSuite } from './volumes/snapshots-suite.ts'
import { defineVolumesSuite } from './volumes/suite.ts'

let service: TestService
let registry: TestRegistry
let offline: Offline
const client = createClient(
  () => offline.url,
  () => service.adminToken,
)

beforeAll(async () => {
  registry = await startRegistry()
  service = await startService({ front: false, settings: { BOXYARD_BASE_REGISTRIES: registry.url } })
  offline = await startOffline(service)
})

afterAll(async () => {
  await offline.close()
  await service.close()
  await registry.close()
})

// The standalone front runs all suites; here each checkout runs a sample of these.
const REPEATED = [
  () => defineBoxesSuite(client),
  () => defineExecSuite(client),
  () => defineExecRecordsSuite(client),
  () => defineInputSuite(client),
  () => defineIdleSuite(client),
  () => defineTokensSuite(client),
  () => defineForksSuite(client),
  () => defineBoxSnapshotsSuite(client),
  () => defineServicesSuite(client),
  () => defineDeploysSuite(client),
  () => defineUrlsSuite(client),
  () => defineEventsSuite(client),
  () => defineVolumesSuite(client),
  () => defineVolumeSnapshotsSuite(client),
  () => defineVolumeCopiesSuite(client),
  () => defineBackupsSuite(client),
  () => defineUpdatesSuite(client),
  () => defineFilesSuite(client),
  () => defineSnapshotFilesSuite(client),
  () => defineSnapshotDiffSuite(client),
  () => defineStorageSuite(client),
  () => defineBasesSuite(client),
  () => definePulledBasesSuite(client, () => registry),
]

describe('through serverless-offline', () => {
  defineSpecificationSuite(client)
  defineTicketsSuite(client, {
    url: () => service.dataUrl,
    token: () => service.adminToken,
    logs: () => [...service.logs, ...offline.said],
  })
  for (const define of draw(REPEATED, 2)) define()

  test('a WebSocket is refused, with a hint at tickets', async () => {
    const answer = await client.get('/v1/projects/run/boxes/it/exec/ws?command=id')
    expect([answer.status, answer.body.code]).toEqual([426, 'upgrade_required'])
    expect(answer.body.detail).toContain('ticket')
  })
})

interface Offline {
  url: string
  said: readonly string[]
  close(): Promise<void>
}

/** Starts `npm run offline` on its own ports, in front of the agent of `before`. */
async function startOffline(before: TestService): Promise<Offline> {
  const [port, lambdaPort] = [await freePort(), await freePort()]
  const script = [`${ROOT}/infra/offline.ts`, '--port', String(port), '--lambda-port', String(lambdaPort)]
  const command = dieWithParent([process.execPath, ...script])
  const env = { ...process.env, ...before.environment, NODE_OPTIONS: '' }
  const said: string[] = []
  const isReady = Promise.withResolvers<undefined>()
  const child = startLoggingChild({
    command,
    env,
    onLine: (line) => {
      said.push(line)
      if (line.includes('Server ready')) isReady.resolve(undefined)
    },
  })
  void child.exited.then((how) => isReady.reject(new Error(`serverless-offline: ${how}\n${said.join('\n')}`)))
  await isReady.promise
  return {
    url: `http://127.0.0.1:${port}`,
    said,
    close: async () => void (await stopChild(child, 20_000)),
  }
}
