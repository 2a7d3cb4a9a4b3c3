import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type ArchiveLab, openArchiveLab, packOf, tar, unpackTo, type View } from '../../helpers/bases/archive-lab.ts'
import { type RawTarEntry, tarOf } from '../../helpers/bases/hostile-tar.ts'
import { raceFor } from '../../helpers/eventually.ts'

describe('archives of a box that changes its files at the same time', () => {
  let lab: ArchiveLab
  let outside: string
  const racers: ChildProcess[] = []
  beforeAll(async () => {
    lab = await openArchiveLab()
    // On the host. Links in the box point to it.
    outside = mkdtempSync(`${tmpdir()}/boxyard-outside-`)
    writeFileSync(`${outside}/secret`, SECRET)
  })
  afterAll(async () => {
    for (const racer of racers) racer.kill('SIGKILL')
    await lab.close()
    rmSync(outside, { recursive: true, force: true })
  })
  // Races on the same files from the host, which is faster than any program in the box. Resolves once the racer runs.
  const race = async (directory: string, names: readonly string[]): Promise<void> => {
    const [first = '', ...others] = names
    const act =
      others.length === 0
        ? `fs.truncateSync('${first}', i % 2 ? 10 : 600000)`
        : `exchange('${first}', ${JSON.stringify(others)}[i % ${others.length}])`
    const script = `
      import fs from 'node:fs'
      import { RENAME, renameBetween } from '${SYSCALLS}'
      const fd = fs.openSync('.', 'r')
      const exchange = (a, b) =>
        renameBetween({ fromFd: fd, fromName: a, toFd: fd, toName: b, flags: RENAME.EXCHANGE })
      for (let i = 0; ; i++) {
        ${act}
        if (i === 0) fs.writeSync(1, 'races')
      }`
    const racer = spawn(process.execPath, ['--input-type=module', '-e', script], {
      ...{ cwd: directory, stdio: ['ignore', 'pipe', 'ignore'] },
    })
    racers.push(racer)
    await Promise.race([once(racer.stdout, 'data'), once(racer, 'exit')])
  }
  const stopRacers = (): void => {
    const exits = racers.map(({ exitCode }) => exitCode)
    for (const racer of racers.splice(0)) racer.kill('SIGKILL')
    // A racer that exited did not race.
    expect(exits.filter((exit) => exit !== null)).toEqual([])
  }

  let count = 0
  // Uses the volume, which has no quota. Many renames in a short time take space.
  const newInBox = (): { path: string; onHost: string } => {
    const name = `${count++}`
    mkdirSync(`${lab.volumePath}/${name}`)
    return { path: `/srv/data/${name}`, onHost: `${lab.volumePath}/${name}` }
  }

  describe.each<View>(['runs', 'stopped'])('seen as one that %s', (view) => {
    test('a box that swaps a directory for a link during unpacking gets nothing written elsewhere', async () => {
      const { path, onHost } = newInBox()
      mkdirSync(`${lab.volumePath}/caught-${view}`)
      for (const name of ['p', 'q']) mkdirSync(`${onHost}/${name}`)
      symlinkSync(`/srv/data/caught-${view}`, `${onHost}/l`)
      symlinkSync(outside, `${onHost}/m`)
      await race(onHost, ['p', 'q', 'l', 'm'])
      const archive = tarOf(
        Array.from({ length: 40 }, (_, i): RawTarEntry[] => [
          { name: `p/f${i % 4}`, body: 'caught' },
          { name: `p/d${i % 4}/`, flag: '5', mode: 0o700 },
          { name: `p/d${i % 4}/f`, body: 'caught' },
          { name: `p/s${i % 4}`, flag: '2', target: 'x' },
          { name: `p/h${i % 4}`, flag: '1', target: `p/f${i % 4}` },
        ]).flat(),
      )
      let made = 0
      let refused = 0
      const goesOn = raceFor(RACE_MS, () => made > 0 && refused > 0)
      while (goesOn()) {
        const report = await unpackTo(lab, view, { path, archive })
        made += report.entries
        refused += report.refusedCount
      }
      stopRacers()
      expect(made).toBeGreaterThan(0)
      expect(refused).toBeGreaterThan(0)
      expect(readdirSync(`${lab.volumePath}/caught-${view}`)).toEqual([])
      expect(readdirSync(outside)).toEqual(['secret'])
      const left = readdirSync(onHost, { recursive: true }).filter((name) => String(name).includes('.boxyard'))
      expect(left).toEqual([])
    })

    test('a box that changes files during packing gets whole archives of its own files only', async () => {
      const { path, onHost } = newInBox()
      writeFileSync(`${onHost}/a`, 'a'.repeat(300_000))
      mkdirSync(`${onHost}/b`)
      writeFileSync(`${onHost}/b/in`, 'in b')
      symlinkSync(`${outside}/secret`, `${onHost}/c`)
      symlinkSync(outside, `${onHost}/d`)
      linkSync(`${onHost}/a`, `${onHost}/e`)
      await race(onHost, ['a', 'b', 'c', 'd'])
      await race(onHost, ['e'])
      let packed = 0
      for (const end = performance.now() + RACE_MS; performance.now() < end; packed++) {
        const archive = await packOf(lab, view, path)
        await tar(tmpdir(), ['-tf', '-'], archive)
        expect(archive.includes(SECRET)).toBe(false)
      }
      stopRacers()
      expect(packed).toBeGreaterThan(0)
    })
  })
})

const SECRET = 'a secret of the host'
const SYSCALLS = new URL('../../../agent/lib/syscalls/files.ts', import.meta.url).href
const RACE_MS = 5000
