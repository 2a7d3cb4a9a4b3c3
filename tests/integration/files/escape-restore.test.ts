import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
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
import { describeTree, type Past, takePast } from '../../helpers/boxes/past-files.ts'
import { type BoxFiles, type FileLab, openFileLab } from '../../helpers/files/lab.ts'

const STORM_MS = 5_000

describe('a box that attacks a restore of its files', () => {
  let lab: FileLab
  let box: BoxFiles
  let host: HostTree
  let hostile: HostileBox

  beforeAll(async () => {
    lab = await openFileLab()
    await lab.volumes.makeVolume('vol_data')
    box = await lab.startBox('box_main', { '/srv/data': 'vol_data' })
    host = makeHostTree(`${lab.volumes.lab.home}/away`)
    hostile = hostileBox(lab, box)
  })

  afterAll(() => lab.close())

  const run = (command: string) => execute(lab.volumes.lab.runtime, 'box_main', command)
  const restore = (past: Past, path: string): Promise<string> =>
    outcome(
      lab.files.restore(box.place, past.place, {
        path: Buffer.from(path),
        temporaryName: `.boxyard-${randomBytes(8).toString('hex')}`,
      }),
      () => 'done',
    )
  const disk = (path: string): string => `${box.place.rootPath}${path}`
  const storm = async (work: () => Promise<void>): Promise<void> => {
    const until = performance.now() + STORM_MS
    while (performance.now() < until) await work()
  }

  test('has nothing of the host read or changed by links, in the box or in the snapshot', async () => {
    await run(
      'mkdir -p /swap/a/in /swap/a/tree/in /swap/other/in; cd /swap/a; echo then >in/file; echo then >tree/in/file',
    )
    for (const [index, target] of host.waysOut().entries())
      await run(`ln -sfn ${target} /swap/${index}; ln -sfn ${target} /then-${index}`)
    const past = await takePast(lab)
    const before = host.read()
    const seen = new Map<string, number>()
    const note = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1)
    for (const [index] of host.waysOut().slice(0, -1).entries())
      for (const path of [`/then-${index}/in/file`, `/then-${index}/tree`, `/swap/${index}/file`])
        expect(await restore(past, path)).toMatch(REFUSALS)
    const fds = (): number => fs.readdirSync('/proc/self/fd').length
    const open = fds()
    const swaps = host.waysOut().map((_, index) => ['/swap/a', `/swap/${index}`] as const)
    await hostile.during([...swaps, ['/swap/a', '/swap/other'], ['/swap/a/tree', '/swap/0']], () =>
      storm(async () => {
        const paths = ['/swap/a/in/file', '/swap/a/tree', '/swap/a/in', '/swap/a']
        await Promise.all(paths.map(async (path) => note(`${path} ${await restore(past, path)}`)))
        const texts = ['/swap/a/in/file', '/swap/a/tree/in/file'].map((path) => outcome(box.read(path), (text) => text))
        for (const text of await Promise.all(texts)) note(text)
      }),
    )
    expect(host.read()).toEqual(before)
    expect([...seen.keys()].filter((what) => what.includes(HOST_TEXT))).toEqual([])
    const whats = [...seen.keys()]
    expect([
      whats.some((what) => what.endsWith(' done')),
      whats.some((what) => REFUSALS.test(what.split(' ')[1] ?? '')),
    ]).toEqual([true, true])
    expect(fds()).toBeLessThan(open + 10)
    // A copy that the box moved away between two steps stays with the box.
    await run('rm -rf /swap')
    await past.drop()
  })

  test('has nothing but its own disk written by changing a copy in progress', async () => {
    await run(
      'mkdir -p /make/tree; cd /make/tree; for d in 1 2 3 4 5 6; do mkdir -p $d/in; for f in $(seq 1 60); do echo $f >$d/in/$f; done; done',
    )
    const past = await takePast(lab)
    const then = describeTree(disk('/make/tree'))
    const before = host.read()
    await box.write('/srv/data/kept', 'kept')
    // Moves away the copy or one of its directories. Replaces it with a link, another directory or a volume's directory.
    const tricks = [
      'for d in .boxyard-*/*/in .boxyard-*/* .boxyard-*',
      `do mv "$d" /stolen/$((n=n+1)) 2>/dev/null && ln -s ${host.path} "$d" 2>/dev/null; done`,
    ].join('; ')
    const attack = `mkdir -p /stolen; cd /make; n=0; while :; do ${tricks}; done`
    const seen = new Set<string>()
    const attacker = await hostile.begin(['/bin/sh', '-c', attack])
    await storm(async () => {
      seen.add(await restore(past, '/make/tree'))
    })
    await hostile.end(attacker)
    expect(host.read()).toEqual(before)
    expect(await box.read('/srv/data/kept')).toBe('kept')
    expect([...seen].some((what) => REFUSALS.test(what))).toBe(true)
    await run('rm -rf /stolen /make/.boxyard-*')
    expect(await restore(past, '/make/tree')).toBe('done')
    expect(describeTree(disk('/make/tree'))).toEqual(then)
    expect((await run('find / -xdev -name ".boxyard*"')).stdout).toBe('')
    await past.drop()
  })

  test('gets all or nothing of a restore during which it stops', async () => {
    await run(
      'mkdir -p /long; cd /long; for d in $(seq 1 40); do mkdir $d; for f in $(seq 1 50); do : >$d/$f; done; done',
    )
    const past = await takePast(lab)
    await run('rm -r /long/7; echo now >/long/now')
    const now = describeTree(disk('/long'))
    const restored = restore(past, '/long')
    await box.stop()
    const came = await restored
    await box.start()
    if (came === 'done') expect(fs.existsSync(disk('/long/now'))).toBe(false)
    else expect([came, describeTree(disk('/long'))]).toEqual(['box_busy', now])
    expect((await run('find / -xdev -name ".boxyard*"')).stdout).toBe('')
    await past.drop()
  })
})
