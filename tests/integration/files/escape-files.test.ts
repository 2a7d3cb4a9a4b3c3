import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  HOST_TEXT,
  type HostileBox,
  type HostTree,
  hostileBox,
  makeHostTree,
  outcome,
  REFUSALS,
} from '../../helpers/boxes/exchange-storm.ts'
import { execute } from '../../helpers/boxes/oci-lab.ts'
import { raceFor } from '../../helpers/eventually.ts'
import { type BoxFiles, type FileLab, openFileLab, PLAIN, pieces } from '../../helpers/files/lab.ts'

const STORM_MS = 5_000
const RACED = ['read', 'write', 'list', 'stat', 'remove']

describe('a hostile box', () => {
  let lab: FileLab
  let box: BoxFiles
  let away: string
  let host: HostTree
  let hostile: HostileBox

  beforeAll(async () => {
    lab = await openFileLab()
    box = await lab.startBox('box_main')
    away = `${lab.volumes.lab.home}/away`
    host = makeHostTree(away)
    hostile = hostileBox(lab, box)
  })

  afterAll(() => lab.close())

  const P = (path: string): Buffer => Buffer.from(path)
  const run = (command: string): ReturnType<typeof execute> => execute(lab.volumes.lab.runtime, 'box_main', command)
  test('finds no link that leads out', async () => {
    const before = host.read()
    await run('mkdir -p /links')
    // The last target is the root, which the box may write to anyway.
    for (const [index, target] of host.waysOut().slice(0, -1).entries()) {
      await run(`ln -sfn ${target} /links/${index}; ln -sfn ${target}/file /links/file-${index}`)
      const inside = [`/links/${index}/file`, `/links/file-${index}`, `/links/${index}/../../../../..${away}/file`]
      for (const path of inside) {
        expect(await outcome(box.read(path), (text) => text)).toMatch(REFUSALS)
        expect(await outcome(box.write(path, 'stolen'), () => 'written')).toMatch(REFUSALS)
      }
      const list = outcome(box.names(`/links/${index}/in`), (names) => names.join())
      expect(await list).toMatch(REFUSALS)
      const remove = lab.files.remove(box.place, P(`/links/${index}/in`), { recursive: true })
      expect(await outcome(remove, () => 'removed')).toMatch(REFUSALS)
      const move = lab.files.move(box.place, P(`/links/${index}/file`), P('/tmp/mine'), { overwrite: true })
      expect(await outcome(move, () => 'moved')).toMatch(REFUSALS)
    }
    expect(host.read()).toEqual(before)
  })

  test('gets an error for endless links, though long chains are followed', async () => {
    await run(
      'mkdir /chain; cd /chain; echo end >0; for n in $(seq 1 60); do ln -s $((n - 1)) $n; done; ln -s b a; ln -s a b',
    )
    expect([await box.read('/chain/39'), await box.read('/chain/40')]).toEqual(['end\n', 'end\n'])
    await box.write('/chain/39', 'new')
    expect(await box.read('/chain/0')).toBe('new')
    for (const path of ['/chain/41', '/chain/60', '/chain/a', '/chain/a/b']) {
      await expect(box.read(path)).rejects.toMatchObject({ code: 'path_invalid' })
      await expect(box.write(path, '')).rejects.toMatchObject({ code: 'path_invalid' })
    }
  })

  // Repeats each attempt. An attempt returns its outcome, whether it succeeds or fails.
  const attempts: Record<string, (place: BoxFiles['place']) => Promise<string>> = {
    read: () => outcome(box.read('/swap/a/in/file'), (text) => text),
    'read upwards': () => outcome(box.read(`/swap/a/in/../../../../../..${away}/in/file`), (text) => text),
    write: () => outcome(box.write('/swap/a/in/file', BOX_TEXT, { parents: true }), () => 'done'),
    'write large': (place) =>
      outcome(lab.files.write(place, P('/swap/a/in/large'), PLAIN, pieces(Buffer.alloc(50_000), 3)), () => 'done'),
    list: () => outcome(box.list('/swap/a', { depth: 3 }), ({ entries }) => (entries.length > 0 ? 'listed' : 'empty')),
    stat: (place) => outcome(lab.files.stat(place, P('/swap/a/in')), ({ kind }) => kind),
    move: (place) =>
      outcome(lab.files.move(place, P('/swap/a/in/large'), P('/swap/a/moved'), { overwrite: true }), () => 'done'),
    make: (place) =>
      outcome(lab.files.makeDirectory(place, P('/swap/a/tree/in'), { mode: null, parents: true }), () => 'done'),
    'write in tree': () => outcome(box.write('/swap/a/tree/in/file', BOX_TEXT), () => 'done'),
    remove: (place) => outcome(lab.files.remove(place, P('/swap/a/tree'), { recursive: true }), () => 'done'),
    'remove file': (place) =>
      outcome(lab.files.remove(place, P('/swap/a/in/file'), { recursive: false }), () => 'done'),
  }

  test('reaches nothing of the host by exchanging directories and links', async () => {
    const before = host.read()
    await run('mkdir -p /swap/a/in /swap/other/in')
    for (const [index, target] of host.waysOut().entries()) await run(`ln -sfn ${target} /swap/${index}`)
    const swaps = host.waysOut().map((_, index) => ['/swap/a', `/swap/${index}`] as const)
    const seen = new Map<string, number>()
    const fds = (): number => fs.readdirSync('/proc/self/fd').length
    const open = fds()
    const outcomes = (name: string): string[] =>
      [...seen.keys()].filter((what) => what.startsWith(`${name}: `)).map((what) => what.slice(name.length + 2))
    const isRaced = (name: string): boolean =>
      outcomes(name).some((what) => REFUSALS.test(what)) && outcomes(name).some((what) => !REFUSALS.test(what))
    await hostile.during([...swaps, ['/swap/a', '/swap/other']], async () => {
      const goesOn = raceFor(STORM_MS, () => RACED.every(isRaced))
      await Promise.all(
        Object.entries(attempts).map(async ([name, attempt]) => {
          while (goesOn()) {
            const what = `${name}: ${await attempt(box.place)}`
            seen.set(what, (seen.get(what) ?? 0) + 1)
          }
        }),
      )
    })
    expect(host.read()).toEqual(before)
    expect([...seen.keys()].filter((what) => what.includes(HOST_TEXT))).toEqual([])
    expect(RACED.filter((name) => !isRaced(name))).toEqual([])
    expect(fds()).toBeLessThan(open + 10)
    // No temporary file remains.
    expect((await run('find / -xdev -name ".boxyard*"')).stdout).toBe('')
  })

  test('has nothing but the tree removed, even if it replaces directories meanwhile', async () => {
    await run('mkdir -p /keep/deep /rm; echo kept >/keep/file; echo kept >/keep/deep/file; ln -s /keep /rm/link')
    await hostile.during([['/rm/tree/a', '/rm/link']], async () => {
      const until = performance.now() + 2_000
      while (performance.now() < until) {
        await outcome(box.write('/rm/tree/a/b/c', BOX_TEXT, { parents: true }), () => 'done')
        await outcome(lab.files.remove(box.place, P('/rm/tree'), { recursive: true }), () => 'done')
      }
    })
    expect((await run('cat /keep/file /keep/deep/file')).stdout).toBe('kept\nkept\n')
  })

  test('does not block a reader by a FIFO, a socket or a device in the place of a file', async () => {
    await run('mkdir /odd; cd /odd; mkfifo fifo; echo file >file')
    const server = net.createServer().listen(`${box.place.rootPath}/odd/socket`)
    await once(server, 'listening')
    const waiting = await hostile.begin(['/bin/sh', '-c', 'echo x >/odd/fifo'])
    let hasOpened = false
    void waiting.exited.then(() => {
      hasOpened = true
    })
    for (const path of ['/odd/fifo', '/odd/socket', '/dev/null', '/dev/tty', '/dev/zero', '/dev/ptmx']) {
      await expect(box.read(path)).rejects.toMatchObject({ code: 'path_invalid' })
      await expect(box.write(path, '')).rejects.toMatchObject({ code: 'path_invalid' })
    }
    const seen = new Set<string>()
    await hostile.during([['/odd/file', '/odd/fifo']], async () => {
      const goesOn = raceFor(2_000, () => seen.size >= 2)
      while (goesOn()) seen.add(await outcome(box.read('/odd/file'), (text) => text))
    })
    expect([...seen].sort()).toEqual(['file\n', 'path_invalid'])
    server.close()
    // The writer still waits for a reader.
    expect(hasOpened).toBe(false)
    await hostile.end(waiting)
  })
})

const BOX_TEXT = 'of the box'
