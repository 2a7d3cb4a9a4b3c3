import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { createFileThreads, type FileThreads } from '../../../agent/lib/threads/threads.ts'
import type { tasks } from '../../fixtures/thread-tasks.ts'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'

type Threads = FileThreads<typeof tasks>

describe('file threads', () => {
  const opened: Threads[] = []
  const open = (options: { count?: number; timeoutMs?: number } = {}): Threads => {
    const module = new URL('../../fixtures/thread-tasks.ts', import.meta.url)
    const threads: Threads = createFileThreads({ module, count: 1, ...options })
    opened.push(threads)
    return threads
  }

  afterEach(async () => {
    for (const threads of opened.splice(0)) await threads.close()
  })

  const none = { argument: undefined as never }

  test('exchange messages both ways, faster than these are read', async () => {
    const threads = open()
    const channel = await threads.begin('box', { name: 'echo', ...none })
    const heard: string[] = []
    const listening = (async () => {
      for (let value = await channel.receive(); value !== null; value = await channel.receive()) heard.push(value)
    })()
    const texts = Array.from({ length: 100 }, (_, index) => `text ${index}`)
    for (const text of texts) await channel.send(text)
    await channel.send(null)
    expect(await channel.result()).toBe(100)
    await listening
    expect(heard).toEqual(texts)
    expect(await channel.receive()).toBeNull()
  })

  test('send few messages that are not read, and end on request', async () => {
    const threads = open()
    const channel = await threads.begin('box', { name: 'flood', ...none })
    expect(await channel.receive()).toBe(1)
    await sleep(50)
    const [said = 0] = await threads.run('box', { name: 'peek', ...none })
    expect(said).toBeLessThanOrEqual(6)
    for (let number = 2; number < 50; number++) expect(await channel.receive()).toBe(number)
    await channel.end()
    expect((await threads.run('box', { name: 'peek', ...none }))[1]).toBe(1)
  })

  test('do short tasks during a long one', async () => {
    const threads = open()
    let isDone = false
    const long = threads.run('box', { name: 'work', argument: { ms: 500, pauses: true } }).then((result) => {
      isDone = true
      return result
    })
    for (let round = 0; round < 5; round++) await threads.run('box', { name: 'peek', ...none })
    expect(isDone).toBe(false)
    expect(await long).toBe('worked')
  })

  test('pass errors on with their code', async () => {
    const threads = open()
    const fail = (argument: 'service' | 'system' | 'other'): Promise<unknown> =>
      threads.run('box', { name: 'fail', argument })
    const service = { code: 'file_not_found', message: 'Not there.', cause: { code: 'ENOENT', syscall: 'openat2' } }
    await expect(fail('service')).rejects.toMatchObject(service)
    await expect(fail('system')).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(fail('other')).rejects.toMatchObject({ cause: { text: expect.stringMatching(/a mistake/) } })
  })

  test('close passed descriptors when a task ends in any way', async () => {
    const threads = open()
    const count = (): number => fs.readdirSync('/proc/self/fd').length
    await threads.start()
    const before = count()
    const given = (): { fds: number[] } => ({ fds: [fs.openSync('/', 'r'), fs.openSync('/', 'r')] })
    await threads.run('box', { name: 'peek', ...none, ...given() })
    await threads.run('box', { name: 'fail', argument: 'system', ...given() }).catch(() => undefined)
    await (await threads.begin('box', { name: 'echo', ...none, ...given() })).end()
    expect(count()).toBe(before)
    await threads.run('box', { name: 'crash', ...none, ...given() }).catch(() => undefined)
    await untilTrue(() => count() < before)
  })

  test.each([
    ['ends', { name: 'crash', argument: undefined as never }],
    ['does not come back from a step', { name: 'work', argument: { ms: 20_000, pauses: false } }],
  ] as const)('that %s fails its tasks, and another takes its place', async (_, task) => {
    const threads = open({ timeoutMs: 2_000 })
    const parked = await threads.begin('box', { name: 'echo', ...none })
    await expect(threads.run('box', task as never)).rejects.toThrow(/file thread/)
    await expect(parked.result()).rejects.toThrow(/file thread/)
    await expect(parked.send('more')).rejects.toThrow(/file thread/)
    expect(await threads.run('box', { name: 'peek', ...none })).toEqual([0, 0])
  })

  test('see nothing of the host, and do not affect what other threads see', async () => {
    const threads = open({ count: 2 })
    const own = fs.readlinkSync('/proc/self/ns/mnt')
    const many = Array.from({ length: 16 }, (_, index) => `box_${index}`)
    const parked = await Promise.all(many.map((key) => threads.begin(key, { name: 'echo', ...none })))
    const seen = await Promise.all(many.map((key) => threads.run(key, { name: 'look', ...none })))
    for (const channel of parked) await channel.end()
    for (const { names, namespace } of seen) {
      expect(names).toEqual(['proc'])
      expect(namespace).not.toBe(own)
    }
    expect(new Set(seen.map(({ namespace }) => namespace)).size).toBe(2)
    // Node's thread pool, which all threads share for file calls, still sees the host.
    expect(
      (await Promise.all(Array.from({ length: 8 }, () => fs.promises.readdir('/')))).every((names) => names.length > 3),
    ).toBe(true)
  })

  test('refuse tasks once closed', async () => {
    const threads = open()
    const parked = await threads.begin('box', { name: 'echo', ...none })
    const closing = threads.close()
    await sleep(1)
    for (const told of [parked.receive(), parked.send('more'), parked.result()])
      await expect(told).rejects.toMatchObject({ code: 'draining' })
    await parked.end()
    await closing
    const fd = fs.openSync('/', 'r')
    await expect(threads.run('box', { name: 'peek', ...none, fds: [fd] })).rejects.toMatchObject({ code: 'draining' })
    expect(() => fs.fstatSync(fd)).toThrow(/EBADF/)
  })
})
