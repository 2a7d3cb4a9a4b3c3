import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { StorageAccounts } from '../../../agent/ports/pool/accounts.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createDice, type Dice } from '../../helpers/files/random-tree.ts'
import { draw } from '../../helpers/sample.ts'

/** Storage under test, whose things belong to projects. The storage decides what a thing is. The suite knows only its name. */
export interface AccountsLab {
  accounts: StorageAccounts
  /** Makes an empty thing. */
  make(thing: string, project: string | null): Promise<void>
  /** Makes a writable copy of a thing. A sealed copy is read-only. */
  copy(source: string, thing: string, project: string | null): Promise<void>
  /** Seals a thing, as a restore does with the data it replaces. */
  seal(thing: string): Promise<void>
  /** Writes a new file of `bytes` incompressible bytes. Throws if the storage refuses it. */
  fill(thing: string, bytes: number): void
  delete(thing: string): Promise<void>
  /** Reopens the storage, as the next agent does. */
  reopen(): Promise<void>
  close(): Promise<void>
}

/** Maximum cost of a thing, beside its files. */
const THING_BYTES = 256 * 1024
const MIB = 1024 ** 2
/** Error that the kernel reports for a write beyond the limit. */
const REFUSED = expect.objectContaining({ errno: -122 })

/** Defines the contract of `StorageAccounts`, for any kind of thing. */
export function defineAccountsSuite(kind: string, open: () => Promise<AccountsLab>): void {
  let lab: AccountsLab
  let things: Set<string>

  const make = async (thing: string, project: string | null): Promise<void> => {
    await lab.make(thing, project)
    things.add(thing)
  }
  const copy = async (source: string, thing: string, project: string | null): Promise<void> => {
    await lab.copy(source, thing, project)
    things.add(thing)
  }
  const destroy = async (thing: string): Promise<void> => {
    await lab.delete(thing)
    things.delete(thing)
  }
  const used = async (project: string): Promise<number> => {
    await lab.accounts.settle()
    return lab.accounts.usedBytes(project)
  }
  /** Waits until a project uses `mib` MiB of files, and nothing else except the cost of each thing. */
  const keeps = (project: string, mib: number): Promise<void> =>
    eventually(async () => {
      const bytes = await used(project)
      const surplus = bytes - mib * MIB
      return surplus >= 0 && surplus <= (things.size + 4) * THING_BYTES
    })

  describe(`the accounts of ${kind} storage`, () => {
    beforeAll(async () => {
      lab = await open()
      things = new Set()
    })
    afterEach(async () => {
      for (const project of PROJECTS) await lab.accounts.limit(project, null)
      for (const thing of things) await destroy(thing)
      for (const project of PROJECTS) await keeps(project, 0)
    })
    afterAll(() => lab?.close())

    test('hold what a project writes into its things, at once and to the byte of its files', async () => {
      expect(await lab.accounts.usedBytes('never-was')).toBe(0)
      await make('disk', 'one')
      lab.fill('disk', 4 * MIB)
      expect(await lab.accounts.usedBytes('one')).toBeGreaterThanOrEqual(4 * MIB)
      await make('volume', 'one')
      lab.fill('volume', 2 * MIB)
      await keeps('one', 6)
      await keeps('two', 0)
    })

    test('hold nothing for a copy until that is written to', async () => {
      await make('disk', 'one')
      lab.fill('disk', 4 * MIB)
      for (let index = 0; index < 5; index++) await copy('disk', `copy_${index}`, 'one')
      await keeps('one', 4)
      lab.fill('copy_3', 2 * MIB)
      await keeps('one', 6)
    })

    test('hold bytes of a deleted thing as long as any copy keeps them, through a chain of copies', async () => {
      await make('disk', 'one')
      lab.fill('disk', 4 * MIB)
      await copy('disk', 'snapshot', 'one')
      await lab.seal('snapshot')
      await destroy('disk')
      await keeps('one', 4)
      await copy('snapshot', 'fork', 'one')
      await destroy('snapshot')
      await keeps('one', 4)
      await copy('fork', 'base', 'one')
      await lab.seal('base')
      lab.fill('fork', 2 * MIB)
      await destroy('fork')
      await keeps('one', 4)
      await destroy('base')
      await keeps('one', 0)
    })

    test('hold everything that rounds of snapshot, write and restore leave behind', async () => {
      await make('disk_0', 'one')
      for (let round = 0; round < 4; round++) {
        await copy(`disk_${round}`, `before_${round}`, 'one')
        lab.fill(`disk_${round}`, 3 * MIB)
        await copy(`before_${round}`, `disk_${round + 1}`, 'one')
        await lab.seal(`disk_${round}`)
      }
      await keeps('one', 12)
    })

    test('hold nothing of what is shared with a thing of the deployment, also when that is deleted', async () => {
      await make('base', null)
      lab.fill('base', 8 * MIB)
      await lab.seal('base')
      await copy('base', 'disk', 'one')
      lab.fill('disk', 1 * MIB)
      await keeps('one', 1)
      await destroy('base')
      await keeps('one', 1)
    })

    test('charge the project that wrote first, whoever copies', async () => {
      await make('disk', 'one')
      lab.fill('disk', 4 * MIB)
      await copy('disk', 'other', 'two')
      lab.fill('other', 2 * MIB)
      await keeps('one', 4)
      await keeps('two', 2)
      await destroy('disk')
      await keeps('one', 4)
      await destroy('other')
      await keeps('one', 0)
    })

    test('tell the same of all projects at once', async () => {
      await make('disk', 'one')
      await make('volume', 'two')
      lab.fill('disk', 2 * MIB)
      lab.fill('volume', 1 * MIB)
      await keeps('one', 2)
      await keeps('two', 1)
      const all = await lab.accounts.all()
      for (const project of PROJECTS) expect(all.get(project)).toBe(await lab.accounts.usedBytes(project))
    })

    test('refuse what goes beyond the bound of a project, in all of its things together, and nothing of others', async () => {
      await lab.accounts.limit('one', 8 * MIB)
      await make('disk', 'one')
      await make('volume', 'one')
      await make('neighbour', 'two')
      lab.fill('disk', 5 * MIB)
      expect(() => lab.fill('volume', 6 * MIB)).toThrow(REFUSED)
      lab.fill('neighbour', 6 * MIB)
      expect(await used('one')).toBeLessThanOrEqual(8 * MIB)
    })

    test('let a project at its bound copy, seal and delete, after which it can write again', async () => {
      await make('disk', 'one')
      lab.fill('disk', 4 * MIB)
      await keeps('one', 4)
      await lab.accounts.limit('one', 1 * MIB)
      expect(() => lab.fill('disk', 2 * MIB)).toThrow(REFUSED)
      await copy('disk', 'snapshot', 'one')
      await lab.seal('snapshot')
      await destroy('snapshot')
      await destroy('disk')
      await keeps('one', 0)
      await lab.accounts.limit('one', 4 * MIB)
      await make('next', 'one')
      lab.fill('next', 2 * MIB)
      await lab.accounts.limit('one', null)
      lab.fill('next', 6 * MIB)
      await keeps('one', 8)
    })

    test('keep bytes, owners and bounds when the storage is opened anew', async () => {
      await make('disk', 'one')
      lab.fill('disk', 4 * MIB)
      await copy('disk', 'snapshot', 'one')
      await destroy('disk')
      await keeps('one', 4)
      await lab.accounts.limit('one', 5 * MIB)
      await lab.reopen()
      await keeps('one', 4)
      await copy('snapshot', 'fork', 'one')
      expect(() => lab.fill('fork', 4 * MIB)).toThrow(REFUSED)
      await destroy('snapshot')
      await destroy('fork')
      await keeps('one', 0)
    })

    test('take over things that had another owner, with what these wrote, and know them the second time', async () => {
      await make('old', null)
      lab.fill('old', 4 * MIB)
      await make('moved', 'two')
      lab.fill('moved', 2 * MIB)
      const owners = new Map<string, string | null>([
        ['old', 'one'],
        ['moved', 'one'],
        ['gone', 'one'],
      ])
      await lab.accounts.assign(owners)
      await lab.accounts.assign(owners)
      await keeps('one', 6)
      await keeps('two', 0)
      await lab.accounts.assign(new Map([['old', null]]))
      await keeps('one', 2)
    })

    test('hold to a bound however many write and copy at once', async () => {
      await lab.accounts.limit('one', 8 * MIB)
      const names = Array.from({ length: 12 }, (_, index) => `racer_${index}`)
      await Promise.all(
        names.map(async (name) => {
          await make(name, 'one')
          await tryTo(() => lab.fill(name, 2 * MIB))
          await copy(name, `${name}_copy`, 'one')
          await tryTo(() => lab.fill(`${name}_copy`, 2 * MIB))
        }),
      )
      // Only the cost of the things exceeds it.
      expect(await used('one')).toBeLessThanOrEqual(8 * MIB + 24 * 64 * 1024)
    })

    test.each(draw(SEEDS, 2))('hold what a history of random steps has left: seed %i', async (seed) => {
      const model = new History(createDice(seed), seed)
      for (let step = 0; step < 60; step++) {
        await model.step({ ...lab, make, copy, delete: destroy })
        if (step % 20 !== 19) continue
        for (const project of PROJECTS) await keeps(project, model.mib(project))
      }
    })
  })
}

interface Written {
  project: string | null
  mib: number
}

/** Acts at random, and knows which files remain and which project wrote them. */
class History {
  readonly #dice: Dice
  readonly #prefix: string
  readonly #things = new Map<string, { project: string | null; files: Written[] }>()
  #count = 0

  constructor(dice: Dice, seed: number) {
    this.#dice = dice
    this.#prefix = `seed_${seed}`
  }

  mib(project: string): number {
    const files = new Set([...this.#things.values()].flatMap((thing) => thing.files))
    return [...files].reduce((sum, file) => sum + (file.project === project ? file.mib : 0), 0)
  }

  async step(lab: Pick<AccountsLab, 'make' | 'copy' | 'fill' | 'delete'>): Promise<void> {
    const fresh = `${this.#prefix}_${this.#count++}`
    const names = [...this.#things.keys()]
    const source = names[this.#dice(Math.max(1, names.length))]
    const thing = source === undefined ? undefined : this.#things.get(source)
    const kind = this.#dice(8)
    if (source === undefined || thing === undefined || kind === 0) {
      const project = [...PROJECTS, null][this.#dice(3)] ?? null
      await lab.make(fresh, project)
      this.#things.set(fresh, { project, files: [] })
    } else if (kind <= 2) {
      await lab.copy(source, fresh, thing.project)
      this.#things.set(fresh, { project: thing.project, files: [...thing.files] })
    } else if (kind === 3) {
      await lab.delete(source)
      this.#things.delete(source)
    } else {
      lab.fill(source, MIB)
      thing.files.push({ project: thing.project, mib: 1 })
    }
  }
}

async function tryTo(work: () => void): Promise<void> {
  try {
    work()
  } catch (error) {
    expect(error).toEqual(REFUSED)
  }
}

const PROJECTS = ['one', 'two']
const SEEDS = Array.from({ length: 16 }, (_, index) => index + 1)
