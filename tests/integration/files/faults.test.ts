import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execute, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { buildSyscallProgram, type Syscall } from '../../helpers/boxes/syscall-program.ts'
import { type BoxFiles, type FileLab, listFilePage, openFileLab, PLAIN, pieces } from '../../helpers/files/lab.ts'
import { mountTable } from '../../helpers/volumes/lab.ts'

const MIB = 1024 * 1024
const AT_FDCWD = -100

describe('files meet', () => {
  let lab: FileLab
  let box: BoxFiles

  beforeAll(async () => {
    lab = await openFileLab()
    await lab.volumes.makeVolume('vol_data')
    box = await lab.startBox('box_main')
  })

  afterAll(() => lab.close())

  const P = (path: string): Buffer => Buffer.from(path)
  const disk = (path: string): string => `${box.place.rootPath}${path}`
  const run = (command: string): ReturnType<typeof execute> => execute(lab.volumes.lab.runtime, 'box_main', command)
  const descriptors = (): number => fs.readdirSync('/proc/self/fd').length

  test.each([10, 100_000])('two writers of %d bytes with one condition: exactly one of them wins', async (size) => {
    const file = `/race-${size}`
    await box.write(file, '')
    for (let round = 0; round < 25; round++) {
      const { etag } = await lab.files.stat(box.place, P(file))
      const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(size))
      const writes = await Promise.allSettled(texts.map((text) => box.write(file, text, { ifMatch: [etag] })))
      expect(writes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
      const winner = writes.findIndex(({ status }) => status === 'fulfilled')
      expect(await box.read(file)).toBe(texts[winner])
      const fresh = `${file}-${round}`
      const made = await Promise.allSettled(texts.map((text) => box.write(fresh, text, { ifNoneMatch: true })))
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    }
  })

  test('the end of the writing process: nothing is left', async () => {
    fs.mkdirSync(disk('/killed'))
    const script = `
      import { createHostFiles } from ${JSON.stringify(path.resolve('agent/drivers/files/files.ts'))}
      const files = createHostFiles({ find: () => null })
      const place = { boxId: 'box_main', rootPath: ${JSON.stringify(box.place.rootPath)}, mounts: [] }
      const wish = { mode: null, parents: true, ifMatch: null, ifNoneMatch: false }
      async function* endless() {
        for (let n = 0; ; n++) {
          yield new Uint8Array(65536)
          if (n === 20) console.log('writing')
          if (n > 20) await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
      files.write(place, Buffer.from('/killed/new/file'), wish, endless())`
    const program = `${lab.volumes.lab.home}/writer.mts`
    fs.writeFileSync(program, script)
    const writer = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'], env: {} })
    await once(writer.stdout, 'data')
    writer.kill('SIGKILL')
    await once(writer, 'exit')
    expect(fs.readdirSync(disk('/killed'))).toEqual([])
  })

  test('a lease: a reader is refused with Retry-After, a writer is not blocked', async () => {
    fs.writeFileSync(disk('/leased'), 'leased')
    const [setSignal, setLease, writeLease, ignored] = [10, 1024, 1, 17]
    const calls: Syscall[] = [
      { name: 'openat', args: [AT_FDCWD, '/leased', 2, 0] },
      { name: 'fcntl', args: [3, setSignal, ignored] },
      { name: 'fcntl', args: [3, setLease, writeLease] },
      { name: 'mkdirat', args: [AT_FDCWD, '/lease-taken', 0o755] },
      { name: 'ppoll', args: [0, 0, 0, 0, 0] },
    ]
    fs.writeFileSync(disk('/tmp/lease'), buildSyscallProgram(calls), { mode: 0o755 })
    const holder = await lab.volumes.lab.runtime.exec('box_main', {
      command: ['/tmp/lease'],
      cwd: '/',
      environment: {},
      user: null,
    })
    await untilTrue(() => fs.existsSync(disk('/lease-taken')))
    expect(fs.readFileSync('/proc/locks', 'utf8')).toContain('LEASE')
    await expect(box.read('/leased')).rejects.toMatchObject({ code: 'box_busy' })
    expect(await lab.files.stat(box.place, P('/leased'))).toMatchObject({ sizeBytes: 6 })
    await box.write('/leased', 'replaced')
    expect(await box.read('/leased')).toBe('replaced')
    await holder.signal('SIGKILL')
    await holder.exited
    for (const stream of [holder.stdin, holder.stdout, holder.stderr]) stream.destroy()
  })

  test('a file that becomes shorter while it is read: the reader gets an error', async () => {
    fs.writeFileSync(disk('/shrinks'), randomBytes(4 * MIB))
    await box.read('/shrinks')
    const before = descriptors()
    const file = await lab.files.open(box.place, P('/shrinks'))
    const reading = (async () => {
      for await (const bytes of file.read({ start: 0, end: 4 * MIB }))
        if (bytes.length > 0) fs.truncateSync(disk('/shrinks'))
    })()
    await expect(reading).rejects.toMatchObject({ code: 'precondition_failed' })
    await untilTrue(() => descriptors() <= before)
  })

  test('readers and writers that leave: nothing stays open', async () => {
    fs.writeFileSync(disk('/left'), randomBytes(2 * MIB))
    await box.read('/left')
    const before = descriptors()
    for (let round = 0; round < 50; round++) {
      const file = await lab.files.open(box.place, P('/left'))
      if (round % 2 === 0) file.close()
      else for await (const bytes of file.read({ start: 0, end: 2 * MIB })) if (bytes.length > 0) break
      const write = lab.files.write(box.place, P('/left'), { ...PLAIN, ifMatch: ['"none"'] }, pieces('x', 100_000))
      await expect(write).rejects.toMatchObject({ code: 'precondition_failed' })
    }
    await untilTrue(() => descriptors() <= before)
  })

  test('a tree of 5,000 levels, which is listed as far as can be and removed', async () => {
    fs.mkdirSync(disk('/deep'))
    const script = `const fs = require('node:fs')
      for (let n = 0; n < 5000; n++) { fs.mkdirSync('d'); fs.mkdirSync('f'); process.chdir('d') }`
    execFileSync(process.execPath, ['-e', script], { cwd: disk('/deep') })
    const { entries } = await box.list('/deep', { depth: 64, limit: 1000 })
    expect(entries).toHaveLength(128)
    const before = descriptors()
    await lab.files.remove(box.place, P('/deep'), { recursive: true })
    expect(fs.existsSync(disk('/deep'))).toBe(false)
    expect(descriptors()).toBeLessThan(before + 10)
  })

  test('a volume that comes over a file as it is written: it is in neither', async () => {
    await run('mkdir /over')
    const volume = { source: lab.volumes.pool.path('vol_data'), path: '/over', readOnly: false }
    const slow = (async function* () {
      yield* pieces(Buffer.alloc(MIB))
      await lab.volumes.lab.runtime.attach('box_main', volume)
      yield* pieces('end')
    })()
    const write = lab.files.write(box.place, P('/over/file'), PLAIN, slow)
    await expect(write).rejects.toMatchObject({ code: 'box_busy' })
    expect(await box.names('/over')).toEqual([])
    await lab.volumes.lab.runtime.detach('box_main', volume.source)
    expect(await box.names('/over')).toEqual([])
  })

  test('the end of the box: a reader reads on, a writer gets an error, and no mount is left', async () => {
    const bytes = randomBytes(4 * MIB)
    fs.writeFileSync(disk('/large'), bytes)
    const volume = { source: lab.volumes.pool.path('vol_data'), path: '/srv', readOnly: false }
    await lab.volumes.lab.runtime.attach('box_main', volume)
    const file = await lab.files.open(box.place, P('/large'))
    const slow = (async function* () {
      yield* pieces(Buffer.alloc(MIB))
      await box.stop()
      yield* pieces('end')
    })()
    const write = lab.files.write(box.place, P('/srv/file'), PLAIN, slow)
    await expect(write).rejects.toMatchObject({ code: 'box_busy' })
    const read: Uint8Array[] = []
    for await (const piece of file.read({ start: 0, end: bytes.length })) read.push(piece)
    expect(Buffer.concat(read).equals(bytes)).toBe(true)
    expect(fs.readdirSync(volume.source)).toEqual([])
    expect(mountTable().filter((line) => line.includes('/vol_'))).toEqual([])
    // The box now counts as stopped, so the API shows only its root.
    expect(await box.names('/srv')).toEqual([])
    await box.start()
  })

  test('a stopped box with a volume at an invalid path: the rest is visible', async () => {
    await run('echo file >/no-place; ln -s /none /no-link; mkdir /nested')
    await box.stop()
    const source = lab.volumes.pool.path('vol_data')
    fs.writeFileSync(`${source}/in-volume`, '')
    const list = async (...paths: string[]): Promise<string[][]> => {
      const mounts = paths.map((each) => ({ source, path: each, readOnly: true }))
      const pages = paths.map((path) => listFilePage(lab.files, { place: { ...box.place, mounts }, path }))
      const told = await Promise.allSettled(pages)
      return told.map((page) =>
        page.status === 'fulfilled'
          ? page.value.entries.map((entry) => Buffer.from(entry.path).toString())
          : [(page.reason as { code: string }).code],
      )
    }
    expect(await list('/no-place', '/no-link', '/nested')).toEqual([
      ['not_a_directory'],
      ['file_not_found'],
      ['in-volume'],
    ])
    expect(await list('/no-place/in', '/nested')).toEqual([['not_a_directory'], ['in-volume']])
    expect(mountTable().filter((line) => line.includes('/vol_'))).toEqual([])
    fs.rmSync(`${source}/in-volume`)
    await box.start()
  })

  test('a box that stops and starts in a loop: each call works, or fails with box_busy', async () => {
    let isDone = false
    const seen = new Set<string>()
    const busy = Promise.all(
      ['/flip-a', '/flip-b'].map(async (file) => {
        for (let round = 0; !isDone; round++) {
          const text = `${round}`
          const wrote = await box.write(file, text).then(
            () => 'done',
            (error: { code: string }) => error.code,
          )
          seen.add(wrote)
          if (wrote === 'done') expect(await box.read(file)).toBe(text)
        }
      }),
    )
    for (let round = 0; round < 10; round++) {
      await (round % 2 === 0 ? box.stop() : box.start())
      await sleep(20)
    }
    isDone = true
    await busy
    expect([...seen].filter((what) => what !== 'done' && what !== 'box_busy')).toEqual([])
    expect(seen.has('done')).toBe(true)
  })
})
