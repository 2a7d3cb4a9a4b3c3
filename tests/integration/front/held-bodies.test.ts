import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { publicTokenKeys } from '../../../shared/auth/keys.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type CrowdMember, disperse, openCrowd } from '../../helpers/front/crowd.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { type FrontProcess, startFrontProcess } from '../../helpers/front/process.ts'
import { makeDeployment, makeFront, makeRequest } from '../../helpers/front/test-front.ts'

const deployment = makeDeployment()
const WRITE = '/v1/projects/crowd/boxes/web/files/write?path=/a'
const MIB = 1024 ** 2
let agent: FakeAgent
let front: FrontProcess
const crowd: CrowdMember[] = []

beforeEach(async () => {
  agent = await startFakeAgent(() => deployment.channelKeys)
  const tokenKeys = publicTokenKeys(deployment.tokenKeys)
  front = await startFrontProcess({ agentUrl: agent.url, channelKeys: deployment.channelKeys, tokenKeys })
})

afterEach(async () => {
  disperse(crowd.splice(0))
  await front.close()
  await agent.close()
})

/** Opens requests whose bodies lack their last bytes. */
async function hold(count: number, head: string, { length, from }: { length: number; from?: string }): Promise<void> {
  const text = `${head}host: localhost\r\ncontent-length: ${length}\r\n\r\n${'x'.repeat(length - 10)}`
  crowd.push(...(await openCrowd(Number(new URL(front.url).port), count, { text, ...(from ? { from } : {}) })))
}

async function ask(project: string): Promise<void> {
  const authorization = `Bearer ${await deployment.mint()}`
  const answer = await fetch(`${front.url}/v1/projects/${project}/boxes`, { headers: { authorization } })
  await answer.text()
  expect(answer.status).toBe(200)
}

const statuses = (): string[] => crowd.map(({ heard }) => heard.split(' ')[1] ?? 'none')

test('bodies that are never finished take a share of the memory, and nothing of others', async () => {
  const head = `PUT ${WRITE} HTTP/1.1\r\nauthorization: Bearer ${await deployment.mint()}\r\ncontent-type: application/json\r\n`
  await ask('other')
  const before = front.rssMb()
  await hold(200, head, { length: MIB })
  // One project may use half of 64 MiB.
  await eventually(() => statuses().filter((status) => status === '429').length === 168)
  await eventually(() => crowd.every(({ socket }, i) => statuses()[i] === '429' || socket.writableLength === 0))
  expect(statuses().filter((status) => status === 'none')).toHaveLength(32)
  expect(front.rssMb() - before).toBeLessThan(120)
  await ask('other')
})

test('streamed bodies with a ticket that nobody issued take a share of the memory, and nothing of others', async () => {
  const head = `PUT ${WRITE}&ticket=none HTTP/1.1\r\ncontent-type: application/octet-stream\r\n`
  await ask('other')
  const before = front.rssMb()
  await hold(400, head, { length: 200_000 })
  await eventually(() => statuses().filter((status) => status === '429').length === 336)
  expect(front.rssMb() - before).toBeLessThan(120)
  const authorization = `Bearer ${await deployment.mint()}`
  const headers = { authorization, 'content-type': 'application/octet-stream' }
  const put = await fetch(front.url + WRITE, { method: 'PUT', headers, body: 'x'.repeat(1000) })
  expect(put.status).toBe(200)
})

test('a ticket brings no large JSON, and a body no endless list of fields', async () => {
  const fields = Buffer.from(`{${Array.from({ length: 90_000 }, (_, i) => `"k${i}":0`).join(',')}}`)
  const headers = { 'content-type': 'application/json' }
  const large = await fetch(`${front.url}${WRITE}&ticket=none`, { method: 'PUT', headers, body: fields })
  expect(large.status).toBe(413)
  const authorization = `Bearer ${await deployment.mint()}`
  const put = { method: 'PUT', headers: { ...headers, authorization }, body: fields }
  const many = await fetch(front.url + WRITE, put)
  expect([many.status, ((await many.json()) as { code: string }).code]).toEqual([400, 'invalid_json'])
  const before = front.cpuMs()
  await Promise.all(Array.from({ length: 30 }, async () => (await fetch(front.url + WRITE, put)).text()))
  // Building a list of all of them took 250 ms each.
  expect(front.cpuMs() - before).toBeLessThan(3_000)
})

test('requests of one project that wait for the agent leave connections to others', async () => {
  const { keyring } = deployment
  const { app, transport } = makeFront({ agentUrl: agent.url, keyring, timeoutMs: 60_000, connections: 8 })
  const headers = { authorization: `Bearer ${await deployment.mint()}` }
  const list = (project: string): ReturnType<HttpHandler> =>
    app(makeRequest('GET', `/v1/projects/${project}/boxes`, { headers }))
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  agent.respond = async ({ target }) => {
    if (target.includes('crowd')) await released
    return { status: 200, headers: {}, body: '{}' }
  }
  const waiting = Array.from({ length: 40 }, () => list('crowd'))
  await eventually(() => agent.seen.length === 4)
  expect((await list('other')).status).toBe(200)
  await pause(50)
  expect(agent.seen.filter(({ target }) => target.includes('crowd'))).toHaveLength(4)
  release()
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(waiting.map(() => 200))
  await transport.close()
})
