import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { BoxPods } from '../../../agent/drivers/pods/box-pods.ts'
import { LABEL_BOX_ID } from '../../../agent/drivers/pods/spec.ts'
import type { PodWatch } from '../../../agent/lib/kube/watch.ts'
import { eventually } from '../../helpers/eventually.ts'
import {
  type FaultyKube,
  type KubeRequest,
  sendJson,
  sendStatus,
  startFaultyKube,
} from '../../helpers/pods/faulty-kube.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

// Checks whether someone else deleted the pod of a box whose init has exited, with an API server that fails at times.

const POD = {
  metadata: { name: 'box-1', uid: 'a', resourceVersion: '1', labels: { [LABEL_BOX_ID]: 'box_1' } },
  status: { phase: 'Running' },
}

let kube: FaultyKube
let watch: PodWatch
let boxPods: BoxPods
/** Answers requests for the pod. */
let answerPod: (response: ServerResponse) => void
let asked: number

function answer({ path, query }: KubeRequest, response: ServerResponse): void {
  if (path.endsWith('/box-1')) {
    asked++
    return answerPod(response)
  }
  if (query.get('watch') === null)
    return sendJson(response, { metadata: { resourceVersion: '2' }, items: [structuredClone(POD)] })
  response.writeHead(200).flushHeaders()
}

beforeEach(async () => {
  kube = await startFaultyKube()
  asked = 0
  kube.answer(answer)
  watch = kube.api.pods.watch('app=box')
  await watch.start()
  const logger = silentLogger
  boxPods = new BoxPods({ api: kube.api, pods: watch, logger, instanceId: 'instance', image: 'stub', node: 'node' })
})

afterEach(() => kube.close())

const wasTaken = (signal = new AbortController().signal) => boxPods.wasTaken('box_1', signal)

test('a pod that stands was not taken, though its init has ended', async () => {
  answerPod = (response) => sendJson(response, POD)
  expect(await wasTaken()).toBe(false)
})

test('a pod that the server no longer has was taken, though the watch still shows it', async () => {
  answerPod = (response) => sendStatus(response, 404, 'NotFound')
  expect(await wasTaken()).toBe(true)
  expect(watch.all()).toHaveLength(1)
})

test.each([
  ['it is gone', true, (response: ServerResponse) => sendStatus(response, 404, 'NotFound')],
  ['it stands', false, (response: ServerResponse) => sendJson(response, POD)],
])('a server that does not answer is asked until it tells that %s', async (_what, taken, tell) => {
  // Each call makes three attempts.
  answerPod = (response) => (asked > 6 ? tell(response) : sendStatus(response, 503, 'ServiceUnavailable'))
  expect(await wasTaken()).toBe(taken)
  expect(watch.fault()).toBeNull()
})

test('a box counts as taken once the watch is found broken', async () => {
  await kube.cut()
  expect(await wasTaken()).toBe(true)
  expect(watch.fault()).not.toBeNull()
})

test('the question ends with its signal', async () => {
  answerPod = (response) => sendStatus(response, 503, 'ServiceUnavailable')
  const ending = new AbortController()
  const outcome = wasTaken(ending.signal).catch((error: unknown) => error)
  await eventually(async () => asked >= 3)
  ending.abort()
  expect(await outcome).toMatchObject({ name: 'AbortError' })
  const sent = asked
  await delay(500)
  expect(asked).toBe(sent)
})
