import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { BaseClaim, FleetBases } from '../../../agent/ports/fleet/bases.ts'
import { OWNER_HEADER } from '../../../agent/ports/fleet/directory.ts'

/** The bases of a fleet as two of its cells see them. */
export interface BasesLab {
  aa: FleetBases
  bb: FleetBases
  close(): Promise<void>
}

/** Defines the contract tests of the bases in every fleet. */
export function defineFleetBasesSuite(kind: string, open: () => Promise<BasesLab>): void {
  let lab: BasesLab

  describe(`bases of a ${kind} fleet`, () => {
    beforeAll(async () => {
      lab = await open()
    })
    afterAll(() => lab?.close())

    test('are found at once where they are claimed, and read anywhere', async () => {
      for (const project of [null, 'demo', 'demo-2']) {
        const claim = baseClaim('tools', { project, createdBy: DIGEST })
        expect(await lab.aa.claim(claim)).toEqual({ version: 1 })
        expect(lab.aa.find(claim)).toEqual({ ...claim, cell: 'aa' })
        expect(await lab.bb.read(claim)).toEqual({ ...claim, cell: 'aa' })
        expect(lab.bb.find(claim)).toEqual({ ...claim, cell: 'aa' })
      }
      expect(lab.aa.find({ project: 'other', name: 'tools' })).toBeNull()
      expect(await lab.aa.read({ project: 'other', name: 'tools' })).toBeNull()
    })

    test('have a name once, and tell a repeat of the request where', async () => {
      const claim = baseClaim('once', { createdBy: DIGEST })
      await lab.aa.claim(claim)
      expect(await lab.aa.claim(claim)).toEqual({ version: 1 })
      const [repeat, other] = [baseClaim('once', { createdBy: DIGEST }), baseClaim('once')]
      const owner = { [OWNER_HEADER]: 'aa' }
      await expect(lab.bb.claim(repeat)).rejects.toMatchObject({ code: 'name_taken', headers: owner })
      await expect(lab.bb.claim(other)).rejects.toMatchObject({ code: 'name_taken', headers: {} })
      await expect(lab.aa.claim(repeat)).rejects.toMatchObject({ code: 'name_taken', headers: {} })
    })

    test('are given up by their own cell alone, and the next of the name has a higher version', async () => {
      const claim = baseClaim('given-up')
      await lab.aa.claim(claim)
      await lab.bb.release(claim, claim.uid)
      await lab.aa.release(claim, baseClaim('given-up').uid)
      expect(await lab.bb.read(claim)).toMatchObject({ uid: claim.uid })
      await lab.aa.release(claim, claim.uid)
      await lab.aa.release(claim, claim.uid)
      expect([lab.aa.find(claim), await lab.bb.read(claim), lab.bb.find(claim)]).toEqual([null, null, null])
      const next = baseClaim('given-up', { version: 1 })
      expect(await lab.bb.claim(next)).toEqual({ version: 2 })
      expect(await lab.aa.read(next)).toMatchObject({ uid: next.uid, version: 2, cell: 'bb' })
    })
  })
}

/** Returns a claim of a base in the project `demo`, with a new uid each time. */
function baseClaim(name: string, parts: Partial<BaseClaim> = {}): BaseClaim {
  const uid = `bas_${String(++count).padStart(26, '0')}`
  return {
    project: 'demo',
    name,
    uid,
    version: 1,
    source: 'box:web',
    createdAt: 1_700_000_000_000,
    createdBy: null,
    ...parts,
  }
}

let count = 0
const DIGEST = 'ab'.repeat(32)
