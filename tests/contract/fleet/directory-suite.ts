import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Directory, HomeClaim, KeptHome } from '../../../agent/ports/fleet/directory.ts'

/** A directory under test. */
export interface DirectoryLab {
  directory: Directory
  close(): Promise<void>
}

/** Defines the contract tests of every directory. */
export function defineDirectorySuite(kind: string, open: () => Promise<DirectoryLab>): void {
  let lab: DirectoryLab
  let directory: Directory

  const here = (createdBy: string | null = null) => ({ cell: directory.cell, epoch: 1, phase: 'Live', createdBy })

  describe(`a ${kind} directory`, () => {
    beforeAll(async () => {
      lab = await open()
      directory = lab.directory
    })
    afterAll(() => lab?.close())

    test('has the number of its cell', () => {
      expect(directory.cell).toMatch(/^[0-9a-hjkmnp-tv-z]{2,4}$/)
    })

    test('finds a claimed name at once, in memory and where it is kept', async () => {
      const claim = claimOf('web', { createdBy: DIGEST })
      const home = await directory.claim(claim)
      expect(home).toEqual(here(DIGEST))
      expect(directory.find(claim)).toMatchObject({ cell: directory.cell, epoch: 1, phase: 'Live' })
      expect(await directory.read(claim)).toEqual(directory.find(claim))
    })

    test('takes a second claim of the same uid for the first', async () => {
      const claim = claimOf('twice')
      const first = await directory.claim(claim)
      expect(await directory.claim(claim)).toEqual(first)
      expect(directory.find(claim)).toEqual(first)
    })

    test('takes many claims at once, of names that differ in one part only', async () => {
      const claims = ['box', 'volume'].flatMap((kindOf) =>
        ['a', 'a-a'].flatMap((project) =>
          ['a', 'a-a', 'b'].map((name) => claimOf(name, { kind: kindOf as HomeClaim['kind'], project })),
        ),
      )
      const homes = await Promise.all(claims.map((claim) => directory.claim(claim)))
      expect(homes).toEqual(claims.map(() => here()))
      expect(claims.map((claim) => directory.find(claim))).toEqual(homes)
    })

    test('gives up a name once, and lets another uid have it', async () => {
      const claim = claimOf('given-up')
      await directory.claim(claim)
      await directory.release(claim, claim.uid)
      await directory.release(claim, claim.uid)
      const next = claimOf('given-up')
      expect(await directory.claim(next)).toEqual(here())
      await directory.release(claim, claim.uid)
      expect(directory.find(next)).toEqual(here())
      expect(await directory.read(next)).toEqual(here())
    })

    test('gives up a name that nobody has', async () => {
      await directory.release(claimOf('nobodys'), 'box_0')
    })

    test('knows of no cell that is not there', () => {
      expect(directory.findCell('zz')).toBeNull()
    })
  })
}

/** Defines the contract tests of directories with other readers as well. They keep published state while a cell is away. */
export function defineCardSuite(kind: string, open: () => Promise<DirectoryLab>): void {
  let lab: DirectoryLab
  let directory: Directory

  describe(`the cards of a ${kind} directory`, () => {
    beforeAll(async () => {
      lab = await open()
      directory = lab.directory
    })
    afterAll(() => lab?.close())

    test('are kept with their names, and listed by project and cell', async () => {
      const config = { cpus: 0.5, ram_mb: 64, region: 'local', storage_gb: 2, disk_mbps: 100, disk_iops: null }
      const boxCard = {
        ...{ createdAt: 1_764_000_000_000, base: 'busybox', forkOf: 'web', port: 8080, storageGb: 2 },
        config: { ...config, network_mbps: null, nesting: true, shm_mb: 48, core_dumps: true },
      }
      const box = claimOf('carded', { project: 'cards', card: boxCard })
      const volume = claimOf('carded', { kind: 'volume', project: 'cards', card: { ...CARD, forkOf: 'pg@v1' } })
      const other = claimOf('carded', { project: 'cards-b' })
      for (const claim of [box, volume, other]) await directory.claim(claim)
      const kept = ({ kind, project, name, uid, card }: HomeClaim) => ({ kind, project, name, uid, card })
      expect(await directory.readKept(box)).toEqual({ ...kept(box), cell: directory.cell })
      expect(await directory.readKept(volume)).toEqual({ ...kept(volume), cell: directory.cell })
      expect(await directory.readKept({ ...box, name: 'nobodys' })).toBeNull()
      expect(directory.homeCells()).toContain(directory.cell)
      const listed = async (kind: HomeClaim['kind'], project: string | null, cell = directory.cell) => {
        const homes: KeptHome[] = []
        for await (const page of directory.homesOf({ cell, kind, project })) homes.push(...page)
        return homes.filter((home) => home.project.startsWith('cards')).map(({ uid }) => uid)
      }
      expect(await listed('box', 'cards')).toEqual([box.uid])
      expect(await listed('volume', 'cards')).toEqual([volume.uid])
      expect((await listed('box', null)).toSorted()).toEqual([box.uid, other.uid])
      expect(await listed('box', null, 'zz')).toEqual([])
    })
  })
}

/** Returns a claim of a name in the project `demo`, with a new uid each time. */
export function claimOf(name: string, parts: Partial<HomeClaim> = {}): HomeClaim {
  const kind = parts.kind ?? 'box'
  const uid = `${kind === 'box' ? 'box' : 'vol'}_${String(++count).padStart(26, '0')}`
  return { kind, project: 'demo', name, uid, createdBy: null, card: CARD, ...parts }
}

let count = 0
const CARD = { createdAt: 1_000, base: null, forkOf: null, port: null, config: null, storageGb: 1 }
const DIGEST = 'ab'.repeat(32)
