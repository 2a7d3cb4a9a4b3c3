import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import {
  createOutputFollower,
  type FollowedOutput,
  type OutputFollower,
} from '../../../web/src/pages/box/commands/output-follower.ts'
import { NO_OUTPUT } from '../../../web/src/pages/box/commands/output-log.ts'
import { execSource } from '../../../web/src/pages/box/commands/queries.ts'
import { eventually } from '../../helpers/eventually.ts'
import { definePageGlobals } from '../../helpers/web/page-globals.ts'

const PATH = { project: 'yard', name: 'one', exec: 'exe_1' }

let answers: ((response: ServerResponse, offset: number) => void)[] = []
let offsets: number[] = []

const server = createServer(({ url = '' }, response) => {
  const offset = Number(new URL(url, 'http://service').searchParams.get('offset'))
  offsets.push(offset)
  const answer = answers.shift()
  if (answer) answer(response, offset)
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  definePageGlobals(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

beforeEach(() => {
  answers = []
  offsets = []
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const page = (data: string, more: { end?: boolean; truncated?: boolean } = {}) => {
  return (response: ServerResponse, offset: number): void =>
    send(response, 200, {
      data: Buffer.from(data).toString('base64'),
      next_offset: offset + data.length,
      truncated: false,
      end: false,
      ...more,
    })
}
const badGateway = (response: ServerResponse): void => send(response, 502, { code: 'agent_unavailable', status: 502 })
const cutOff = (response: ServerResponse): void => void response.destroy()

function follow(follower: OutputFollower, signal = new AbortController().signal) {
  const told: FollowedOutput[] = []
  return { told, ended: follower.follow((now) => told.push(now), signal) }
}

const followerFrom = (offset: number): OutputFollower =>
  createOutputFollower(NO_OUTPUT, execSource({ path: PATH, stream: 'stdout', offset }))
const textOf = ({ log }: FollowedOutput): string => log.blocks.map(({ text }) => text).join('')

test('output goes on where it was after answers of 502 and lost connections, which are told', async () => {
  answers = [page('one '), ...Array(4).fill(badGateway), ...Array(4).fill(cutOff), page('two', { end: true })]
  const follower = followerFrom(5)
  const { told, ended } = follow(follower)
  expect(await ended).toBe(true)
  expect(textOf(follower.now)).toBe('one two')
  expect(follower.now).toMatchObject({ isLost: false, error: null })
  expect(new Set(told.map(({ isLost }) => isLost))).toEqual(new Set([true, false]))
  expect(new Set(offsets)).toEqual(new Set([5, 9]))
})

test('an answer that another request would get as well ends it, with its words', async () => {
  answers = [page('one'), (response) => send(response, 404, { code: 'exec_not_found', status: 404, detail: 'gone' })]
  const follower = followerFrom(0)
  const { told, ended } = follow(follower)
  await ended
  expect(told.at(-1)).toMatchObject({ isLost: false, error: { code: 'exec_not_found' } })
  expect(offsets).toEqual([0, 3])
})

test('what is left for a while keeps no request, and goes on where it was', async () => {
  answers = [page('one ')]
  const follower = followerFrom(0)
  const stop = new AbortController()
  const { ended } = follow(follower, stop.signal)
  await eventually(() => offsets.length === 2, 1)
  const connections = (): Promise<number> =>
    new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
  stop.abort()
  expect(await ended).toBe(false)
  await eventually(async () => (await connections()) === 0, 1)
  answers = [page('two', { end: true })]
  expect(await follow(follower).ended).toBe(true)
  expect(textOf(follower.now)).toBe('one two')
  expect(offsets).toEqual([0, 4, 4])
})

test('what is not kept any more is left out, with what was before it', async () => {
  answers = [page('one '), page('nine', { truncated: true, end: true })]
  const follower = followerFrom(0)
  await follow(follower).ended
  expect(follower.now.log).toMatchObject({ isCut: true, blocks: [{ text: 'nine' }] })
})
