import { closeSync, constants, fchmodSync, openSync, realpathSync } from 'node:fs'
import { runOk } from '../lib/run.ts'
import type { Finding, Fix } from './findings.ts'

/** The result of fixing a finding. */
export interface FixResult {
  what: string
  /** Null if it succeeded. */
  error: string | null
}

/** Makes the safe changes that findings ask for, in their order. Never rejects. */
export async function applyFixes(findings: readonly Finding[]): Promise<FixResult[]> {
  const results: FixResult[] = []
  for (const { fix } of findings) {
    if (fix === null) continue
    const what = nameOf(fix)
    try {
      await apply(fix)
      results.push({ what, error: null })
    } catch (error) {
      results.push({ what, error: error instanceof Error ? error.message : String(error) })
    }
  }
  return results
}

function nameOf(fix: Fix): string {
  return fix.kind === 'chmod' ? `chmod ${fix.mode.toString(8).padStart(4, '0')} ${fix.path}` : `modprobe ${fix.module}`
}

async function apply(fix: Fix): Promise<void> {
  if (fix.kind === 'modprobe') {
    await runOk('modprobe', [fix.module], { timeoutMs: TIMEOUT_MS })
    return
  }
  // The pool's image may be a link. Never follows one that has since replaced the file.
  const fd = openSync(realpathSync(fix.path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    fchmodSync(fd, fix.mode)
  } finally {
    closeSync(fd)
  }
}

const TIMEOUT_MS = 30_000
