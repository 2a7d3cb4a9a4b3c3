import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createKubeDirectory, type KubeDirectory } from '../../../agent/drivers/fleet/directory-kube.ts'
import { eventually } from '../../helpers/eventually.ts'
import {
  type FaultyKube,
  type KubeRequest,
  sendJson,
  sendStatus,
  startFaultyKube,
} from '../../helpers/pods/faulty-kube.ts'

let kube: FaultyKube
let directory: KubeDirectory
/** Pages and version of the listed ownership records. */
let pages: object[][]
let version: number
let open: ServerResponse[]

const home = (name: string, resourceVersion: number, cell = 'bb') => ({
  metadata: { name: `box.demo.${name}`, uid: name, resourceVersion: String(resourceVersion) },
  spec: { kind: 'box', project: 'demo', name, uid: `box_${name}`, cell, epoch: 1, phase: 'Live' },
})
const cellOf = (name: string) => directory.find({ kind: 'box', project: 'demo', name })?.cell ?? null

const answer = ({ path, query }: KubeRequest, response: ServerResponse): void => {
  const isHomes = path === '/apis/boxyard.dev/v1alpha1/namespaces/boxes/homes'
  if (query.get('watch') !== null) {
    response.writeHead(200).flushHeaders()
    if (isHomes) open.push(response)
    return
  }
  const page = Number(query.get('continue') ?? 0)
  const rest = isHomes && page + 1 < pages.length ? { continue: String(page + 1) } : {}
  const items = isHomes ? pages[page] : []
  sendJson(response, { metadata: { resourceVersion: String(version), ...rest }, items })
}

/** Returns the lists and watches of ownership records: the page of each list, the version of each watch. */
const asked = (): string[] =>
  kube.requests
    .filter(({ path }) => path.endsWith('/homes'))
    .map(({ query }) =>
      query.has('watch')
        ? `watch ${String(query.get('resourceVersion'))}`
        : `list ${String(query.get('limit'))} ${query.get('continue') ?? ''}`.trim(),
    )

const until = (isSo: () => boolean): Promise<void> => eventually(isSo, 5)

beforeEach(async () => {
  kube = await startFaultyKube()
  pages = [[home('a', 1)], [home('b', 2)]]
  version = 10
  open = []
  kube.answer(answer)
  directory = createKubeDirectory({ api: kube.api, cell: 'aa', sendBase: async () => null })
  await directory.open()
  await directory.synced()
})

afterEach(() => kube.close())

test('the homes are listed page by page, then watched', () => {
  expect(['a', 'b', 'c'].map(cellOf)).toEqual(['bb', 'bb', null])
  expect(asked()).toEqual(['list 2000', 'list 2000 1', 'watch 10'])
})

test('a dropped watch is resumed where the history is the same', async () => {
  open[0]?.destroy()
  await until(() => open.length === 2)
  expect(asked().slice(3)).toEqual(['list 1', 'watch 10'])
})

test('a dropped watch is not resumed where the history has not come so far', async () => {
  pages = [[home('a', 1)], [home('c', 3)]]
  version = 5
  open[0]?.destroy()
  await until(() => open.length === 2)
  expect(asked().slice(3)).toEqual(['list 1', 'list 2000', 'list 2000 1', 'watch 5'])
  expect(['a', 'b', 'c'].map(cellOf)).toEqual(['bb', null, 'bb'])
})

test('a list that expires between its pages begins anew, and memory has all meanwhile', async () => {
  pages = [[home('a', 1, 'cc')], [home('b', 2)]]
  let seen: (string | null)[] = []
  kube.answer((request, response) => {
    if (request.query.get('continue') === null) return answer(request, response)
    seen = ['a', 'b'].map(cellOf)
    kube.answer(answer)
    sendStatus(response, 410, 'Expired')
  })
  open[0]?.end(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })}\n`)
  await until(() => open.length === 2)
  expect(seen).toEqual(['cc', 'bb'])
  expect(asked().slice(3)).toEqual(['list 2000', 'list 2000 1', 'list 2000', 'list 2000 1', 'watch 10'])
  expect(['a', 'b'].map(cellOf)).toEqual(['cc', 'bb'])
})
