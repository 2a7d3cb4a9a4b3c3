import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { PodNetwork } from '../../../agent/drivers/pods/network.ts'
import { createKubeRuntime } from '../../../agent/drivers/pods/runtime-kube.ts'
import { LABEL_BOX_ID } from '../../../agent/drivers/pods/spec.ts'
import type { PodWatch } from '../../../agent/lib/kube/watch.ts'
import type { Runtime } from '../../../agent/ports/boxes/runtime.ts'
import { type FaultyKube, sendJson, startFaultyKube } from '../../helpers/pods/faulty-kube.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const POD = {
  metadata: { name: 'box-1', uid: 'a', resourceVersion: '1', labels: { [LABEL_BOX_ID]: 'box_1' } },
  status: { phase: 'Running' },
}

let kube: FaultyKube
let pods: PodWatch
let runtime: Runtime
let home: string
let left: string[]

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'boxyard-ended-'))
  left = []
  kube = await startFaultyKube()
  kube.answer(({ query }, response) => {
    if (query.get('watch') === null) return sendJson(response, { metadata: { resourceVersion: '2' }, items: [POD] })
    response.writeHead(200).flushHeaders()
  })
  pods = kube.api.pods.watch('app=box')
  await pods.start()
  const network = {
    retain: () => undefined,
    leave: (id: string) => void left.push(id),
    addressOf: async () => null,
    onResolvers: () => undefined,
  }
  runtime = createKubeRuntime({
    ...{ instanceId: 'endedbox', runDir: join(home, 'run'), api: kube.api, pods, image: 'stub', node: 'node' },
    ...{ network: network as unknown as PodNetwork, warmPool: 0, pidsMax: 64, logger: silentLogger },
    execFiles: { directory: join(home, 'execs'), keptBytes: 1024 },
  })
  await runtime.open()
})

afterEach(async () => {
  await runtime.close()
  await kube.close()
  rmSync(home, { recursive: true })
})

test('the address of a box that was ended is no longer its own while the API server is away', async () => {
  await kube.cut()
  await expect(runtime.stop('box_1', { graceMs: 0 })).rejects.toMatchObject({ code: 'runtime_unavailable' })
  expect(left).toEqual(['box_1'])
})
