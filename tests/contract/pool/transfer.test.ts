import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { SendTooLongError } from '../../../agent/ports/pool/cow-filesystem.ts'
import { openPoolLab, type PoolLab, shellAt } from '../../helpers/pool/lab.ts'

const MIB = 1024 ** 2
let source: PoolLab
let target: PoolLab

beforeAll(async () => {
  source = await openPoolLab(512 * MIB)
  target = await openPoolLab(512 * MIB)
  await source.pool.create('vol', 'demo')
  const lines = [
    'mkdir deep && echo one > deep/file && head -c 3000000 /dev/urandom > random && yes text | head -c 9000000 > text',
    'ln -s deep/file link && ln random hard && mkfifo pipe && chown 1000:2000 text && chmod 4711 text',
    'setfattr -n user.note -v kept text 2>/dev/null || true; truncate -s 50M sparse; printf x > "odd\nname"',
  ]
  for (const line of lines) shellAt(source.pool.path('vol'), line)
  await source.freeze('vol', 'snp_a')
  shellAt(source.pool.path('vol'), 'echo two >> deep/file; rm hard; mv link link2; mkdir new; echo n > new/n')
  await source.freeze('vol', 'snp_b')
  shellAt(source.pool.path('vol'), 'echo three >> deep/file')
  await source.freeze('vol', 'snp_c')
})

afterAll(async () => {
  await source.close()
  await target.close()
})

const send = (name: string, parent: string | null = null) => source.pool.send({ name, parent })

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function* each<T>(...items: T[]): AsyncGenerator<T> {
  yield* items
}

async function receive(name: string, ...streams: AsyncIterable<Uint8Array>[]): Promise<void> {
  const container = `tmp_${name}`
  try {
    await target.pool.receive({ container, name, project: 'demo', quotaBytes: null, streams: each(...streams) })
  } finally {
    await target.pool.destroy(container)
  }
}

const describeTree = (root: string): string =>
  shellAt(
    root,
    'find . -printf "%p %y %m %U %G %s %l %n %T@\\n" | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum',
  )

describe('a subvolume sent to another pool', () => {
  test('is there as it was, whole and by increments, and can be written to', async () => {
    await receive('vol_full', send('snp_a'))
    expect(describeTree(target.pool.path('vol_full'))).toBe(describeTree(source.pool.path('snp_a')))
    await receive('vol_chain', send('snp_a'), send('snp_b', 'snp_a'), send('snp_c', 'snp_b'))
    expect(describeTree(target.pool.path('vol_chain'))).toBe(describeTree(source.pool.path('snp_c')))
    fs.writeFileSync(path.join(target.pool.path('vol_chain'), 'written'), 'mine')
    expect((await target.pool.list()).sort()).toEqual(['vol_chain', 'vol_full'])
    for (const name of ['vol_full', 'vol_chain']) await target.pool.destroy(name)
  })

  test('has the same bytes each time, and few where little changed', async () => {
    const first = await collect(send('snp_a'))
    expect((await collect(send('snp_a'))).equals(first)).toBe(true)
    expect((await collect(send('snp_c', 'snp_b'))).length).toBeLessThan(2000)
  })

  test('ends when it is longer than it may be', async () => {
    await source.pool.create('vol_long', 'demo')
    shellAt(source.pool.path('vol_long'), 'head -c 64m /dev/urandom >noise; sync')
    await source.freeze('vol_long', 'snp_long')
    const long = source.pool.send({ name: 'snp_long', parent: null, maxBytes: MIB })
    await expect(collect(long)).rejects.toThrow(SendTooLongError)
    expect(
      (await collect(source.pool.send({ name: 'snp_long', parent: null, maxBytes: 256 * MIB }))).length,
    ).toBeGreaterThan(60 * MIB)
    for (const name of ['snp_long', 'vol_long']) await source.pool.destroy(name)
  })

  test('has an origin: copies have that of their source, received ones a new one', async () => {
    const { pool } = source
    const origin = await pool.origin('vol')
    expect(origin).toEqual(expect.any(String))
    await source.copy('snp_a', 'vol_copy')
    await source.freeze('vol_copy', 'snp_copy')
    shellAt(pool.path('vol_copy'), 'rm -r deep; touch -d @1 .; echo more > more')
    for (const name of ['snp_a', 'snp_c', 'vol_copy', 'snp_copy']) expect(await pool.origin(name)).toBe(origin)
    await pool.create('vol_other', 'demo')
    const streams = each(send('snp_a'), send('snp_b', 'snp_a'))
    await pool.receive({ container: 'tmp_received', name: 'vol_received', project: 'demo', quotaBytes: null, streams })
    const others = [await pool.origin('vol_other'), await pool.origin('vol_received')]
    expect(new Set([origin, ...others]).size).toBe(3)
    for (const name of ['vol_copy', 'snp_copy', 'vol_other', 'tmp_received', 'vol_received']) await pool.destroy(name)
    expect(await pool.origin('vol_other')).toBeNull()
  })

  test('is bounded by its quota from the start', async () => {
    const name = 'vol_small'
    await target.pool.receive({
      container: 'tmp_small',
      name,
      project: 'demo',
      quotaBytes: 4 * MIB,
      streams: each(send('snp_a')),
    })
    await target.pool.destroy('tmp_small')
    expect(() =>
      fs.writeFileSync(path.join(target.pool.path(name), 'big'), randomBytes(8 * MIB), { flush: true }),
    ).toThrow(expect.objectContaining({ errno: -122 }))
    await target.pool.destroy(name)
  })

  test('is refused in the wrong order, cut off, changed, or with more than one subvolume', async () => {
    const [full, more] = [await collect(send('snp_a')), await collect(send('snp_b', 'snp_a'))]
    const changed = Buffer.from(full)
    changed.writeUInt8(changed.readUInt8(changed.length >> 1) ^ 1, changed.length >> 1)
    const pieces = (bytes: Buffer) => each<Uint8Array>(bytes)
    const refused: [string, AsyncIterable<Uint8Array>[]][] = [
      ['order', [pieces(more), pieces(full)]],
      ['again', [pieces(full), pieces(full)]],
      ['alone', [pieces(more)]],
      ['cut', [pieces(full.subarray(0, full.length - 100_000))]],
      ['changed', [pieces(changed)]],
      ['text', [pieces(Buffer.from('not packed at all'))]],
      ['none', []],
      ['empty', [pieces(Buffer.alloc(0))]],
      ['two', [pieces(Buffer.concat([full, more]))]],
    ]
    for (const [name, streams] of refused) {
      await expect(receive(`vol_${name}`, ...streams)).rejects.toMatchObject({ code: 'internal' })
    }
    expect(await target.pool.list()).toEqual([])
  })

  test('whose source breaks off is an error of that source', async () => {
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield (await collect(send('snp_a'))).subarray(0, 1000)
      throw new Error('the source broke off')
    }
    await expect(receive('vol_broken', broken())).rejects.toMatchObject({ cause: { message: 'the source broke off' } })
    expect(await target.pool.list()).toEqual([])
  })

  test('with a path that is too long is an error with that reason', async () => {
    await source.pool.create('long', 'demo')
    const line = 'd=$(printf %0250d 0); for i in $(seq 20); do mkdir $d; cd -P $d; done'
    shellAt(source.pool.path('long'), line)
    await source.freeze('long', 'snp_long')
    await expect(collect(send('snp_long'))).rejects.toMatchObject({ code: 'path_invalid' })
  })

  test('that is abandoned leaves no process behind', async () => {
    // The letter in brackets keeps pgrep from matching itself.
    const running = (): string => shellAt('/', `pgrep -fa '${source.directory}.*snp_[a]|tmp_stoppe[d]' || true`)
    for await (const piece of send('snp_a')) if (piece.length > 0) break
    const ending = new AbortController()
    const cut = source.pool.send({ name: 'snp_a', parent: null, signal: ending.signal })
    await expect(
      (async () => {
        for await (const piece of cut) if (piece.length > 0) ending.abort(new Error('stopped'))
      })(),
    ).rejects.toThrow()
    const stopping = new AbortController()
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      yield (await collect(send('snp_a'))).subarray(0, 100_000)
      stopping.abort(new Error('stopped'))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const container = 'tmp_stopped'
    const streams = each(endless())
    await expect(
      target.pool.receive({
        container,
        name: 'vol_stopped',
        project: 'demo',
        quotaBytes: null,
        streams,
        signal: stopping.signal,
      }),
    ).rejects.toMatchObject({ code: 'internal' })
    await target.pool.destroy(container)
    for (let tries = 0; running() !== '' && tries < 100; tries++)
      await new Promise((resolve) => setTimeout(resolve, 50))
    expect(running()).toBe('')
    expect(await target.pool.list()).toEqual([])
  })

  test('that does not fit into the pool is an error with that reason', async () => {
    const small = await openPoolLab(256 * MIB)
    try {
      await source.pool.create('large', 'demo')
      fs.writeFileSync(path.join(source.pool.path('large'), 'random'), randomBytes(300 * MIB))
      await source.freeze('large', 'snp_large')
      const streams = each(send('snp_large'))
      const request = { container: 'tmp_large', name: 'vol_large', project: 'demo', quotaBytes: null, streams }
      await expect(small.pool.receive(request)).rejects.toMatchObject({ code: 'storage_full' })
      await small.pool.destroy('tmp_large')
      expect(await small.pool.list()).toEqual([])
    } finally {
      await small.close()
    }
  })
})
