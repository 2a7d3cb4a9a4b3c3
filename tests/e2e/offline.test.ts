import { afterAll, beforeAll, describe } from '@jest/globals'
import { dieWithParent, ROOT } from '../../infra/commands.ts'
import { startLoggingChild } from '../../infra/logging-child.ts'
import { stopChild } from '../../infra/service-process.ts'
import { createClient } from '../helpers/client.ts'
import { freePort, startService, type TestService } from '../helpers/service.ts'
import { defineBoxesSuite } from './boxes-suite.ts'
import { defineExecRecordsSuite } from './exec-records-suite.ts'
import { defineExecSuite } from './exec-suite.ts'
import { defineForksSuite } from './forks-suite.ts'
import { defineInputSuite } from './input-suite.ts'
import { defineTokensSuite } from './tokens-suite.ts'
import { defineUpdatesSuite } from './updates-suite.ts'
import { defineVolumesSuite } from './volumes-suite.ts'

let service: TestService
let offline: Offline
const client = createClient(
  () => offline.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService({ front: false })
  offline = await startOffline(service)
}, 120_000)

afterAll(async () => {
  await offline.close()
  await service.close()
}, 60_000)

describe('through serverless-offline', () => {
  defineBoxesSuite(client)
  defineExecSuite(client)
  defineExecRecordsSuite(client)
  defineInputSuite(client)
  defineTokensSuite(client)
  defineForksSuite(client)
  defineVolumesSuite(client)
  defineUpdatesSuite(client)
})

interface Offline {
  url: string
  close(): Promise<void>
}

/** `npm run offline`, on ports of its own, before the agent of `before`. */
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
    close: async () => void (await stopChild(child, 20_000)),
  }
}
