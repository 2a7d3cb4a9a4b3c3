import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execute } from '../../helpers/boxes/oci-lab.ts'
import { type BoxFiles, type FileBox, openFileBox } from '../../helpers/files/lab.ts'

const P = (path: string): Buffer => Buffer.from(path)

describe.each(['running', 'stopped'])('what a %s box makes of its files', (view) => {
  let lab: FileBox
  let box: BoxFiles

  beforeAll(async () => {
    lab = await openFileBox(view)
    box = lab.box
  })

  afterAll(() => lab.close())

  const run = (shell: string) => execute(lab.volumes.lab.runtime, 'box_main', shell)

  test('a move onto a volume, or a file of the system, is refused, and it stays mounted', async () => {
    fs.mkdirSync(lab.disk('/onto'))
    fs.writeFileSync(lab.disk('/onto-file'), '')
    const move = (from: string, to: string): Promise<unknown> =>
      lab.files.move(box.place, P(from), P(to), { overwrite: true })
    await expect(move('/onto', '/srv/data')).rejects.toMatchObject({ code: 'path_invalid' })
    await box.write('/srv/data/kept', 'in the volume')
    expect(fs.readFileSync(`${lab.volumes.pool.path('vol_data')}/kept`, 'utf8')).toBe('in the volume')
    if (view === 'stopped') return
    await expect(move('/onto-file', '/etc/machine-id')).rejects.toMatchObject({ code: 'path_invalid' })
    expect((await run('grep -c " /srv/data \\| /etc/machine-id " /proc/self/mountinfo')).stdout).toBe('2\n')
  })

  test('a write to a filesystem in memory is refused', async () => {
    if (view === 'stopped') {
      // In a stopped box, it is a directory on the disk. The next start mounts over it.
      await box.write('/dev/file', 'x')
      return
    }
    await run('echo there >/dev/shm/file')
    expect(await box.read('/dev/shm/file')).toBe('there\n')
    const options = { overwrite: true, mode: null, parents: true }
    for (const change of [
      () => box.write('/dev/shm/file', 'x'),
      () => lab.files.makeDirectory(box.place, P('/dev/shm/directory'), options),
      () => lab.files.move(box.place, P('/dev/shm/file'), P('/dev/shm/other'), options),
    ])
      await expect(change()).rejects.toMatchObject({ code: 'path_invalid' })
  })

  test('a file of any time is listed with a valid date', async () => {
    fs.mkdirSync(lab.disk('/times'))
    for (const [name, seconds] of [
      ['late', '@99999999999999'],
      ['early', '@-99999999999999'],
      ['now', '@1700000000'],
    ] as const)
      execFileSync('touch', ['-d', seconds, lab.disk(`/times/${name}`)])
    const entries = (await box.list('/times')).entries
    const years = entries.map(({ modifiedAt }) => new Date(modifiedAt).getUTCFullYear())
    expect(years.every((year) => year >= 0 && year <= 9999)).toBe(true)
    expect(years[2]).toBe(2023)
  })

  test('a page of long paths ends before it is large, and the next goes on', async () => {
    const deep = Array.from({ length: 12 }, () => 'd'.repeat(250)).join('/')
    execFileSync('mkdir', ['-p', lab.disk(`/long/${deep}`)])
    for (let n = 0; n < 2500; n++) fs.writeFileSync(lab.disk(`/long/${deep}/${n}`), '')
    const names: string[] = []
    const pages: number[] = []
    let after: Uint8Array | null = null
    do {
      const page = await box.list('/long', { depth: 64, limit: 10_000, ...(after === null ? {} : { after }) })
      const paths = page.entries.map(({ path }) => Buffer.from(path).toString())
      pages.push(paths.join('').length)
      names.push(...paths.map((path) => path.slice(path.lastIndexOf('/') + 1)))
      after = page.next
    } while (after !== null)
    expect(pages.length).toBeGreaterThan(2)
    expect(Math.max(...pages)).toBeLessThan(3 * 1024 ** 2)
    const numbers = Array.from({ length: 2500 }, (_, n) => String(n)).sort()
    expect(names.slice(-2500)).toEqual(numbers)
    expect(names.length).toBe(2512)
  })
})
