import { expect, test } from '@jest/globals'
import { drawMutants, keepMutants, listMutants } from '../../mutation/mutants.ts'

const SOURCE = 'export const more = (a) => a < 1\nexport const less = (a) => a > 2 && a > 3\n'

test('a mutant keeps its id when its line moves and is indented', () => {
  const moved = listMutants('a.ts', `// A line before.\n${SOURCE.replace('export const less', '  export const less')}`)
  expect(moved.map(({ id }) => id)).toEqual(listMutants('a.ts', SOURCE).map(({ id }) => id))
  expect(moved.map(({ line }) => line)).toEqual(listMutants('a.ts', SOURCE).map(({ line }) => line + 1))
})

test('equal lines and equal operators in a line have ids of their own', () => {
  const mutants = listMutants('a.ts', SOURCE + SOURCE)
  expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length)
})

test('a changed line loses its mutants, and no others', () => {
  const ids = listMutants('a.ts', SOURCE).map(({ id }) => id)
  const { kept, gone } = keepMutants(listMutants('a.ts', SOURCE.replace('a < 1', 'a < 4')), ids)
  expect(kept.every(({ line }) => line === 2)).toBe(true)
  expect(gone).toEqual(ids.slice(0, gone.length))
  expect(gone.length).toBeGreaterThan(0)
})

test('a seed draws the same mutants again, and another one others', () => {
  const all = listMutants('a.ts', SOURCE.repeat(20))
  const draw = (seed: number): string[] => drawMutants(all.toReversed(), { seed, count: 10 }).map(({ id }) => id)
  expect(draw(1)).toEqual(drawMutants(all, { seed: 1, count: 10 }).map(({ id }) => id))
  expect(draw(1)).not.toEqual(draw(2))
})

test('a source that is added takes few places of a draw', () => {
  const all = listMutants('a.ts', SOURCE.repeat(20))
  const drawn = drawMutants(all, { seed: 1, count: 10 })
  const again = drawMutants([...all, ...listMutants('b.ts', SOURCE)], { seed: 1, count: 10 })
  const own = again.filter(({ file }) => file === 'a.ts')
  expect(own).toEqual(drawn.slice(0, own.length))
})
