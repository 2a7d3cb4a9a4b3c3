import { readFileSync } from 'node:fs'
import { isErrno } from '../syscalls/libc.ts'

/** The text of a file; empty for one that is not there, or whose process or device has gone. */
export function readTextIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH', 'ENODEV')) return ''
    throw error
  }
}

/** The text of a file; empty for one that cannot be read, for whatever reason. */
export function tryReadText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
