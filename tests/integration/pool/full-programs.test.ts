import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { SHARE_ENV, Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createHostBaseBuilder } from '../../../agent/drivers/bases/builder.ts'
import { openPoolLab, type PoolLab, shellAt } from '../../helpers/pool/lab.ts'

// Programs ahead of the real ones in PATH. They report a lack of space while the disk has some: of metadata, of a quota, or on another
// disk.
const MIB = 1024 ** 2
const PATH = process.env['PATH'] ?? ''
const programs = fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-programs-'))
let lab: PoolLab

beforeAll(async () => {
  lab = await openPoolLab(256 * MIB)
  await lab.pool.create('vol', 'demo')
  shellAt(lab.pool.path('vol'), 'echo one > file')
  await lab.freeze('vol', 'snp_a')
  shellAt(lab.pool.path('vol'), 'echo two > file')
  await lab.freeze('vol', 'snp_b')
})

afterEach(async () => {
  await setPath(PATH)
  for (const name of fs.readdirSync(programs)) fs.rmSync(path.join(programs, name))
})

afterAll(async () => {
  await lab.close()
  fs.rmSync(programs, { recursive: true })
})

/** Sets the path of this process. A test's `process.env` is only a copy. */
async function setPath(path: string): Promise<void> {
  const worker = new Worker(`process.env.PATH = ${JSON.stringify(path)}`, { eval: true, env: SHARE_ENV })
  await once(worker, 'exit')
}

/** Puts a program ahead of the real one in PATH. It writes `text` to stderr and fails. */
async function inject(name: string, text: string): Promise<void> {
  const script = `#!/bin/sh\ncat >&2 <<'END'\n${text}\nEND\nexit 1\n`
  fs.writeFileSync(path.join(programs, name), script, { mode: 0o755 })
  await setPath(`${programs}:${PATH}`)
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  return Buffer.concat(pieces)
}

const FULL = ['No space left on device', 'Disk quota exceeded']

test.each(FULL)('receive: %s', async (words) => {
  const sent = await collect(lab.pool.send({ name: 'snp_a', parent: null }))
  const streams = (async function* () {
    yield (async function* () {
      yield sent
    })()
  })()
  await inject('btrfs', `ERROR: writing to file failed: ${words}`)
  const request = { container: 'tmp_box', name: 'vol_new', project: 'demo', quotaBytes: null, streams }
  await expect(lab.pool.receive(request)).rejects.toMatchObject({ code: 'storage_full', status: 507 })
  await lab.pool.destroy('tmp_box')
})

test.each(FULL)('send: %s', async (words) => {
  await inject('btrfs', `ERROR: send ioctl failed: ${words}`)
  await expect(collect(lab.pool.send({ name: 'snp_a', parent: null }))).rejects.toMatchObject({ code: 'storage_full' })
})

test.each(FULL)('compare: %s', async (words) => {
  await inject('btrfs', `ERROR: send ioctl failed: ${words}`)
  const request = { from: 'snp_a', to: 'snp_b', after: null, limit: 10, keep: false, share: 'demo' }
  await expect(lab.pool.changes(request)).rejects.toMatchObject({ code: 'storage_full' })
})

test.each(FULL)('build a base: %s, and no other release is tried', async (words) => {
  await inject('unshare', `E: dpkg: cannot copy extracted data: ${words}`)
  const said: string[] = []
  const options = { progress: (text: string) => said.push(text), signal: new AbortController().signal }
  const building = createHostBaseBuilder().build('debian', lab.pool.path('vol'), options)
  await expect(building).rejects.toMatchObject({ code: 'storage_full' })
  expect(said).toEqual([expect.stringMatching(/^Building the debian base/)])
})

test('any other failure stays one of ours', async () => {
  await inject('btrfs', 'ERROR: send ioctl failed: Input/output error')
  await expect(collect(lab.pool.send({ name: 'snp_a', parent: null }))).rejects.toThrow('Input/output error')
  await inject('unshare', 'unshare: unshare failed: No space left on device')
  const options = { progress: () => undefined, signal: new AbortController().signal }
  const building = createHostBaseBuilder().build('debian', lab.pool.path('vol'), options)
  await expect(building).rejects.toMatchObject({ code: 'internal' })
})
