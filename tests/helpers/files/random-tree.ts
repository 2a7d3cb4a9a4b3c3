import fs from 'node:fs'
import path from 'node:path'
import { createRandom } from '../sample.ts'

/** Returns an integer from 0 up to, but not including, `below`. */
export type Dice = (below: number) => number

/** Creates dice that always give the same results for a seed. */
export function createDice(seed: number): Dice {
  const random = createRandom(seed)
  return (below) => Math.floor(random() * below)
}

/** Applies a random change to a tree. Ignores impossible changes. */
export function changeAtRandom(dice: Dice, root: string): void {
  try {
    CHANGES[dice(CHANGES.length)]?.(dice, root)
  } catch (error) {
    if (!EXPECTED.has((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

function anyPath(dice: Dice, root: string): string {
  const parts = Array.from({ length: 1 + dice(3) }, () => NAMES[dice(NAMES.length)] as string)
  return path.join(root, ...parts)
}

type Change = (dice: Dice, root: string) => void

const write: Change = (dice, root) => fs.writeFileSync(anyPath(dice, root), 'x'.repeat(dice(9000)))
const makeDirectory: Change = (dice, root) => fs.mkdirSync(anyPath(dice, root))
const move: Change = (dice, root) => fs.renameSync(anyPath(dice, root), anyPath(dice, root))
const link: Change = (dice, root) => fs.linkSync(anyPath(dice, root), anyPath(dice, root))

const CHANGES: readonly Change[] = [
  write,
  write,
  makeDirectory,
  makeDirectory,
  move,
  move,
  move,
  link,
  (dice, root) => fs.unlinkSync(anyPath(dice, root)),
  (dice, root) => fs.rmSync(anyPath(dice, root), { recursive: true }),
  (dice, root) => fs.symlinkSync('target', anyPath(dice, root)),
  (dice, root) => fs.appendFileSync(anyPath(dice, root), 'more', { flag: 'r+' }),
  (dice, root) => fs.truncateSync(anyPath(dice, root), dice(5000)),
  (dice, root) => fs.chmodSync(anyPath(dice, root), dice(2) === 0 ? 0o700 : 0o711),
  (dice, root) => fs.lchownSync(anyPath(dice, root), dice(3), 0),
  (dice, root) => fs.lutimesSync(anyPath(dice, root), 1_000_000 + dice(3), 2_000_000 + dice(3)),
]

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f-g', 'é', 'a.1']
const EXPECTED = new Set([
  'ENOENT',
  'EEXIST',
  'ENOTDIR',
  'EISDIR',
  'ENOTEMPTY',
  'EINVAL',
  'EPERM',
  'ELOOP',
  'ERR_FS_EISDIR',
])
