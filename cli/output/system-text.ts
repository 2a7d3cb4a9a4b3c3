import { getSystemErrorMap } from 'node:util'

/** Says of a refused system call what the system says, as other programs do; null for another error. */
export function systemText(error: Error): string | null {
  if (!('errno' in error && typeof error.errno === 'number')) return null
  return getSystemErrorMap().get(error.errno)?.[1] ?? null
}
