import { readFileSync } from 'node:fs'
import { isErrno } from '../syscalls/libc.ts'

/** Reads a text file. Empty if it, or its process or device, does not exist. */
export function readTextIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH', 'ENODEV')) return ''
    throw error
  }
}

/** Reads a text file. Empty if it cannot be read for any reason. */
export function tryReadText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
