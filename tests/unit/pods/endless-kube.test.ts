import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type FaultyKube, sendJson, startFaultyKube } from '../../helpers/pods/faulty-kube.ts'

let kube: FaultyKube

beforeEach(async () => {
  kube = await startFaultyKube()
})

afterEach(() => kube.close())

const UNREACHABLE = { code: 'runtime_unavailable', reason: 'unreachable' }

describe('a server without an end', () => {
  test('is cut off after 64 MiB of an answer, is not asked again, and is reported', async () => {
    let sentBytes = 0
    kube.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"items":["')
      const piece = Buffer.alloc(1024 ** 2, 'x')
      const send = (): void => {
        sentBytes += piece.length
        if (!response.destroyed) response.write(piece, () => setImmediate(send))
      }
      send()
    })
    await expect(kube.api.pods.list('x=y')).rejects.toMatchObject(UNREACHABLE)
    expect(kube.requests).toHaveLength(1)
    expect(sentBytes).toBeLessThan(90 * 1024 ** 2)
    expect(kube.api.faults()[0]?.evidence).toBe("The cluster's API server answers to list pods with more than 64 MiB.")
  })

  test('is left after 500 pages of a list', async () => {
    kube.answer((_request, response) => sendJson(response, { metadata: { continue: 'more' }, items: [] }))
    const read = async (): Promise<void> => {
      for await (const page of kube.api.objects('Home').list('spec.cell=k1')) expect(page).toEqual([])
    }
    await expect(read()).rejects.toMatchObject(UNREACHABLE)
    expect(kube.requests).toHaveLength(500)
  })
})

test('a later page of a list has more time than a first answer, for which 10 s are all', async () => {
  kube.answer((request, response) => {
    const isLater = request.query.has('continue')
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"items":[],')
    setTimeout(() => response.end(`"metadata":${isLater ? '{}' : '{"continue":"more"}'}}`), isLater ? 10_300 : 0)
  })
  for await (const page of kube.api.objects('Home').list('spec.cell=k1')) expect(page).toEqual([])
  expect(kube.requests).toHaveLength(2)
})
