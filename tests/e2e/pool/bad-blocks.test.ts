import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Answer, createClient } from '../../helpers/front/client.ts'
import { damageBlock } from '../../helpers/pool/bad-block.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
let whole: Answer
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const [boxes, data] = ['/v1/projects/bad/boxes', '/v1/projects/bad/data']
const mark = (what: string): string => `mark-${process.pid}-${what}-`
const noise = (kilobytes: number): string => `head -c ${kilobytes}k /dev/urandom`

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_POOL_GB: '0.5', BOXYARD_POOL_STEP_GB: '0' } })
  await client.post(boxes, { name: 'box', config: { ram_mb: 64 } })
  for (const name of ['vol', 'packed']) {
    await client.post(data, { name, size_gb: 1 })
    await client.post(`${data}/${name}/attach`, { box: 'box', path: `/${name}` })
  }
  await shell('echo first > /vol/file; echo first > /packed/file')
  whole = await client.post(`${data}/vol/backups`)
  // Splits the mark in two. The disk also holds the shell line, which must not match.
  const put = (what: string, file: string, [before, after]: [number, number]): string =>
    `(${noise(before)}; printf '${mark(what)}%s' here; ${noise(after)}) > ${file}`
  await shell(put('small', '/root/small', [16, 16]))
  await shell(put('start', '/root/start', [8, 1000]))
  await shell(put('end', '/root/end', [4000, 8]))
  await shell(put('volume', '/vol/bad', [100, 100]))
  // btrfs compresses most of this file, so the mark lies within compressed data on disk.
  await shell(`(${noise(8)}; printf '${mark('packed')}%s' here; head -c 100k /dev/zero) > /packed/bad; sync`)
  await client.post(`${boxes}/box/snapshots`, { name: 'past', include_data: true })
  await service.killAgent('SIGTERM')
  await service.runAgentMode('down')
  for (const what of ['small', 'start', 'end', 'volume', 'packed'])
    damageBlock(join(service.dataDir, 'pool.img'), `${mark(what)}here`)
  await service.startAgent()
})

afterAll(async () => {
  await service.close()
})

describe('blocks that the disk has lost', () => {
  test('fail every read of the box and of snapshots, and are never returned as whole', async () => {
    for (const place of ['', '&snapshot=past']) {
      for (const file of ['small', 'start']) {
        const { status, body } = await client.get(`${boxes}/box/files/read?path=/root/${file}${place}`)
        expect([status, body.code]).toEqual([500, 'internal'])
        expect(body.detail).toBe(
          `/root/${file}: it cannot be read or written whole, because the disk of the host failed there.`,
        )
      }
      await expect(client.get(`${boxes}/box/files/read?path=/root/end${place}`)).rejects.toThrow()
      await expect(client.get(`${boxes}/box/files/archive?path=/root${place}`)).rejects.toThrow()
      const { text } = await client.get(`${boxes}/box/files/read?path=/vol/file${place}`)
      expect(text).toBe('first\n')
    }
    expect(await shell('cat /root/small > /dev/null')).toMatch(/Input\/output error/)
  })

  test.each(['vol', 'packed'])(
    'end a backup of volume %s with the reason, and earlier backups stay whole',
    async (name) => {
      const { status, body } = await client.post(`${data}/${name}/backups?wait_seconds=25`)
      expect([status, body.code]).toEqual([500, 'internal'])
      expect(body.detail).toMatch(/disk/)
      const left = (await client.get(`${data}/${name}/backups`)).body.backups
      expect(
        left.filter((each: { status: string }) => each.status === 'done').map(({ id }: { id: string }) => id),
      ).toEqual(name === 'vol' ? [whole.body.id] : [])
    },
  )

  test('do not keep an earlier backup from being restored', async () => {
    const again = await client.post(`${data}/vol/backups/${whole.body.id}/restore`, { as: 'again' })
    expect(again.status).toBe(200)
    await client.post(`${data}/again/attach`, { box: 'box', path: '/again' })
    expect(await shell('cat /again/file')).toBe('first\n')
  })

  test('are reported by health, with a remedy', async () => {
    const { status, problems } = (await client.get('/healthz')).body
    expect(status).toBe('degraded')
    expect(problems).toContainEqual({
      code: 'storage_errors',
      evidence: expect.stringMatching(/corruptions \d+/),
      remedy: expect.stringContaining('scrub'),
    })
  })
})

async function shell(line: string): Promise<string> {
  const { stdout, stderr } = (await client.shell('bad', 'box', line)).body
  return stdout + stderr
}
