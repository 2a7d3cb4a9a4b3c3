import { getSystemErrorMap } from 'node:util'

/** Returns the system's text for a failed system call, as other programs print it, or null for another error. */
export function systemText(error: Error): string | null {
  if (!('errno' in error && typeof error.errno === 'number')) return null
  return getSystemErrorMap().get(error.errno)?.[1] ?? null
}
