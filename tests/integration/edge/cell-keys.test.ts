import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createChannelKeys } from '../../../shared/auth/keys.ts'
import { askLed, cellEdgeOf, LED_HOST, leadTo } from '../../helpers/edge/cell-labs.ts'
import { encryptDomain } from '../../helpers/edge/certificates.ts'
import { createEdgeLab, type EdgeLab } from '../../helpers/edge/lab.ts'

const HOST = LED_HOST
const { keys } = createChannelKeys()

let directory: string
let front: EdgeLab
let owner: EdgeLab

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-cell-keys-'))
})
afterEach(async () => {
  await front.close()
  await owner.close()
  rmSync(directory, { recursive: true, force: true })
})

const ask = () => askLed({ port: front.edge.port })

test('keys of the channel are replaced without a refused request', async () => {
  let [frontKeys, ownerKeys] = [keys, keys]
  const [next, other] = [createChannelKeys().keys, createChannelKeys().keys]
  const cellsOf = (read: () => typeof keys) => ({ host: '127.0.0.1', port: 0, tls: null, keys: read })
  front = createEdgeLab({ cells: cellsOf(() => frontKeys) })
  owner = createEdgeLab({ cells: cellsOf(() => ownerKeys) })
  const box = await owner.startUpstream()
  await owner.open({ routes: [owner.route(HOST, box)] })
  await front.open()
  const led = { set: new Map([[HOST, cellEdgeOf(owner)]]) }
  await front.edge.lead(led)
  expect((await ask()).status).toBe(200)
  const restart = async (lab: EdgeLab): Promise<void> => {
    await lab.leave()
    await lab.open({ routes: lab === owner ? [owner.route(HOST, box)] : [] })
    if (lab === front) await front.edge.lead(led)
  }
  // The front or the owner can be the first to have the new key.
  frontKeys = [...next, ...keys]
  await restart(front)
  expect((await ask()).status).toBe(200)
  ownerKeys = [...next, ...keys]
  await restart(owner)
  expect((await ask()).status).toBe(200)
  frontKeys = next
  await restart(front)
  expect((await ask()).status).toBe(200)
  frontKeys = other
  await restart(front)
  expect((await ask()).status).toBe(403)
})

test('clients of the front may speak HTTP/2', async () => {
  const { settings } = encryptDomain(directory, 'localhost')
  const certificates = settings['BOXYARD_EDGE_CERTIFICATES'] ?? ''
  const cells = { host: '127.0.0.1', port: 0, tls: null, keys: () => keys }
  const scheme = 'https' as const
  front = createEdgeLab({ cells, certificates, scheme })
  owner = createEdgeLab({ cells, certificates, scheme })
  const box = await owner.startUpstream()
  await owner.open({ routes: [owner.route(HOST, box)] })
  await front.open()
  leadTo(front, owner)
  const session = connectHttp2(`https://127.0.0.1:${front.edge.port}`, { rejectUnauthorized: false })
  const statuses = ['/one', '/two', '/.boxyard/problems'].map(
    (path) =>
      new Promise<number>((resolve, reject) => {
        const stream = session.request({ ':path': path, ':authority': HOST })
        stream.once('response', (answer) => resolve(Number(answer[':status']))).once('error', reject)
        stream.resume()
      }),
  )
  expect(await Promise.all(statuses)).toEqual([200, 200, 200])
  session.destroy()
  expect(box.seen.map(({ headers }) => headers['x-forwarded-proto'])).toEqual(['https', 'https'])
})
