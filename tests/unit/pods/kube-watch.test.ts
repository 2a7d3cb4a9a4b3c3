import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { PodWatch } from '../../../agent/lib/kube/watch.ts'
import { eventually } from '../../helpers/eventually.ts'
import {
  type FaultyKube,
  type KubeRequest,
  sendJson,
  sendStatus,
  startFaultyKube,
} from '../../helpers/pods/faulty-kube.ts'

let kube: FaultyKube
let watch: PodWatch
let changes: string[]
/** Items and version of the next list, and the open watches. */
let listed: object[]
let version: number
let open: ServerResponse[]

const pod = (uid: string, resourceVersion: number, phase = 'Running') => ({
  metadata: { name: `pod-${uid}`, uid, resourceVersion: String(resourceVersion), managedFields: [{}] },
  status: { phase },
})

const answerWell = (request: KubeRequest, response: ServerResponse): void => {
  if (request.query.get('watch') === null) {
    return sendJson(response, { metadata: { resourceVersion: String(version) }, items: listed })
  }
  response.writeHead(200)
  response.flushHeaders()
  open.push(response)
}

const send = (type: string, object: unknown): void => void open.at(-1)?.write(`${JSON.stringify({ type, object })}\n`)

const until = (isSo: () => boolean): Promise<void> => eventually(isSo, 5)

const watched = () =>
  kube.requests.filter(({ query }) => query.has('watch')).map(({ query }) => query.get('resourceVersion'))

beforeEach(async () => {
  kube = await startFaultyKube()
  changes = []
  listed = [pod('a', 1), pod('b', 2)]
  version = 10
  open = []
  kube.answer(answerWell)
  watch = kube.api.pods.watch('app=box')
  watch.onChange(({ metadata, status }, change) => changes.push(`${change} ${metadata?.uid} ${status?.phase}`))
  await watch.start()
})

afterEach(() => kube.close())

describe('a view of pods', () => {
  test('shows the listed pods, then their changes', async () => {
    expect(watch.all().map(({ metadata }) => metadata?.name)).toEqual(['pod-a', 'pod-b'])
    expect(watch.get('a')?.metadata?.managedFields).toBeUndefined()
    expect(kube.requests.map(({ query }) => query.get('labelSelector'))).toEqual(['app=box', 'app=box'])
    changes.length = 0
    send('MODIFIED', pod('a', 11, 'Failed'))
    send('ADDED', pod('c', 12, 'Pending'))
    send('DELETED', pod('b', 13))
    await until(() => changes.length === 3)
    expect(changes).toEqual(['modified a Failed', 'added c Pending', 'deleted b Running'])
    expect(watch.get('b')).toBeNull()
    expect(watch.fault()).toBeNull()
  })

  test('takes events split anywhere, also within a character', async () => {
    const line = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: pod('c', 11, 'ü') })}\n`)
    const cut = line.indexOf(0xc3) + 1
    open[0]?.write(line.subarray(0, cut))
    await delay(20)
    open[0]?.write(Buffer.concat([line.subarray(cut), line]))
    await until(() => changes.includes('added c ü'))
    expect(changes.filter((change) => change.includes(' c '))).toHaveLength(1)
  })

  test('calls each listener though another throws, and none that unsubscribed', async () => {
    const taken: string[] = []
    const letGo = watch.onChange(() => {
      throw new Error('not taken')
    })
    watch.onChange((_pod, change) => taken.push(change))
    send('ADDED', pod('c', 11))
    await until(() => taken.length === 1)
    letGo()
    send('DELETED', pod('c', 12))
    await until(() => taken.length === 2)
  })

  test('ends with its API', async () => {
    const closed = new Promise((resolve) => open[0]?.on('close', resolve))
    kube.api.close()
    await closed
    expect(watch.fault()).toBeNull()
  })
})

describe('a watch that is dropped', () => {
  test('is resumed at its version, bookmarks included, without a fault or a list', async () => {
    send('ADDED', pod('c', 11))
    send('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: '20' } })
    await until(() => watch.get('c') !== null)
    open[0]?.end()
    await until(() => open.length === 2)
    // Longer than the shortest delay, so this watch counts as one that lasted.
    await delay(40)
    open[1]?.destroy()
    await until(() => open.length === 3)
    expect(watched()).toEqual(['10', '20', '20'])
    expect(kube.requests).toHaveLength(4)
    expect(watch.all()).toHaveLength(3)
    expect(watch.fault()).toBeNull()
  })

  test('is not opened in a loop if the server ends each', async () => {
    kube.answer((request, response) => {
      answerWell(request, response)
      response.end()
    })
    open[0]?.end()
    await delay(400)
    // Delays are 10 to 80 ms long.
    expect(kube.requests.length).toBeLessThan(20)
  })
})

describe('a version that the server has dropped', () => {
  const relist = async (): Promise<void> => {
    changes.length = 0
    listed = [pod('a', 1), pod('c', 30)]
    version = 31
    await until(() => watched().at(-1) === '31')
    expect(changes).toEqual(['deleted b Running', 'added c Running'])
    expect(watch.fault()).toBeNull()
  }

  test('reported in the watch causes a new list; vanished pods are reported', async () => {
    send('ERROR', { kind: 'Status', code: 410, reason: 'Expired' })
    await relist()
  })

  test('reported as the watch opens has the same effect', async () => {
    kube.answer((request, response) => {
      kube.answer(answerWell)
      sendStatus(response, 410, 'Expired')
      expect(request.query.get('watch')).toBe('true')
    })
    open[0]?.destroy()
    await relist()
  })
})

describe('a server that is away', () => {
  test('leaves the view as it was, with the fault; then all changes are reported', async () => {
    await kube.cut()
    await until(() => watch.fault() !== null)
    const { since, error } = watch.fault() ?? {}
    expect(error).toMatchObject({ code: 'runtime_unavailable', reason: 'unreachable' })
    expect(Date.now() - (since ?? 0)).toBeLessThan(5_000)
    expect(watch.all()).toHaveLength(2)
    await delay(200)
    expect(watch.fault()?.since).toBe(since)
    changes.length = 0
    listed = [pod('b', 40, 'Failed')]
    await kube.listen()
    await until(() => watch.fault() === null)
    expect(changes).toEqual(['deleted a Running', 'modified b Failed'])
  })

  test('and hangs is noticed by another call; waiting callers resume when it is back', async () => {
    let isBack = false
    watch.onRecovery(() => {
      isBack = true
    })
    kube.answer(() => undefined)
    await kube.api.nodes({ deadlineMs: 50 }).catch(() => undefined)
    await until(() => watched().length === 2)
    await kube.cut()
    await until(() => watch.fault() !== null)
    expect(isBack).toBe(false)
    kube.answer(answerWell)
    await kube.listen()
    await until(() => isBack)
    expect(watch.fault()).toBeNull()
  })

  test('at the beginning does not delay the start', async () => {
    await kube.cut()
    const late = kube.api.pods.watch('app=other')
    await late.start()
    expect(late.fault()).not.toBeNull()
    await expect(late.synced()).rejects.toMatchObject({ code: 'runtime_unavailable' })
    await kube.listen()
    await until(() => late.fault() === null)
    await late.synced()
    expect(late.all()).toHaveLength(2)
  })
})

test('a withdrawn verb is the fault, and granting it again heals', async () => {
  kube.answer((_request, response) => sendStatus(response, 403, 'Forbidden', 'pods is forbidden'))
  open[0]?.destroy()
  await until(() => watch.fault() !== null)
  expect(watch.fault()?.error.message).toBe(
    'The agent is not allowed to watch pods in namespace "boxes". Grant it to its ServiceAccount.',
  )
  kube.answer(answerWell)
  await until(() => watch.fault() === null)
  expect(kube.api.faults()).toEqual([])
})
