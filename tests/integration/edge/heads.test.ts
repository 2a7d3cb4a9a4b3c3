import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createEdgeLab, type EdgeLab, type LabAnswer } from '../../helpers/edge/lab.ts'

const HOST = 'web--demo.localhost'

let lab: EdgeLab
const servers: { close(): unknown }[] = []
let lastAddress = 1

beforeAll(async () => {
  lab = createEdgeLab()
  await lab.open()
})
afterAll(async () => {
  for (const server of servers) await server.close()
  await lab.close()
})

async function lead(to: { address: string; port: number }): Promise<void> {
  await lab.edge.change({ set: [lab.route(HOST, to)] })
}

function ask(method = 'GET', ...headers: string[]): Promise<LabAnswer> {
  return lab.ask([`${method} / HTTP/1.1`, `host: ${HOST}`, ...headers])
}

describe('the head of a request', () => {
  test('may have 64 KiB, with or without a session', async () => {
    const large = createServer({ maxHeaderSize: 256 * 1024 }, (incoming, outgoing) => {
      outgoing.end(`${incoming.headers.cookie?.length} ${incoming.headers.cookie?.includes('boxyard')}`)
    })
    const address = `127.8.3.${++lastAddress}`
    await new Promise<void>((resolve) => large.listen(0, address, resolve))
    servers.push({ close: () => (large.close(), large.closeAllConnections()) })
    await lead({ address, port: (large.address() as AddressInfo).port })
    const filler = 'z'.repeat(65_000)
    expect(await ask('GET', `cookie: a=${filler}`)).toMatchObject({ status: 200, body: '65002 false' })
    const answer = await ask('GET', `cookie: __Host-boxyard=x; a=${filler}`)
    expect(answer).toMatchObject({ status: 200, body: '65002 false' })
  })

  test('that is larger is refused with its own words', async () => {
    const answer = await ask('GET', `cookie: a=${'z'.repeat(66_000)}`)
    expect(answer.status).toBe(431)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'headers_too_large', status: 431 })
    const page = await ask('GET', 'accept: text/html', `cookie: a=${'z'.repeat(66_000)}`)
    expect([page.status, page.body]).toEqual([431, expect.stringContaining('larger than 64 KiB')])
  })

  test('is read in no time, whatever it is made of', async () => {
    const box = await lab.startUpstream()
    await lead(box)
    const began = performance.now()
    for (const filler of [' ', '; ', ';', '=', '__Host-boxyard=', ' ;'])
      await ask('GET', `cookie: __Host-boxyard=x;${filler.repeat(65_000 / filler.length)}a`)
    expect(performance.now() - began).toBeLessThan(1_500)
  })

  test('is no matter to a large body', async () => {
    const box = await lab.startUpstream()
    await lead(box)
    const body = 'y'.repeat(90_000)
    const answer = await lab.ask(['PUT / HTTP/1.1', `host: ${HOST}`, `content-length: ${body.length}`], body)
    expect([answer.status, JSON.parse(answer.body)]).toEqual([200, expect.objectContaining({ size: 90_000 })])
  })
})
