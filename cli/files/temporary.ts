import { randomBytes } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { whileInterruptible } from '../output/interrupts.ts'

/**
 * Does `work` with a free path beside `path`, and finally deletes what is there, even after an interrupt. @throws Error without the
 * directory
 */
export async function withTemporaryBeside<T>(path: string, work: (temporary: string) => Promise<T>): Promise<T> {
  const name = `.${basename(path)}.boxyard-${randomBytes(4).toString('hex')}`
  const temporary = join(dirname(path), name)
  // Otherwise the system's error would contain a name that the user never typed.
  if (!existsSync(dirname(path))) throw new Error(`There is no directory ${dirname(path)} on this machine.`)
  const remove = (): void => rmSync(temporary, { recursive: true, force: true })
  try {
    return await whileInterruptible(remove, () => work(temporary))
  } finally {
    remove()
  }
}
