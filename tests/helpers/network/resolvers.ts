import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockFile } from '../../../agent/lib/syscalls/descriptors.ts'
import { MS, mountFilesystem, unmount } from '../../../agent/lib/syscalls/mounts.ts'

/**
 * Replaces /etc/resolv.conf in the mount namespace of the tests; returns a function that restores it. Test files share that
 * namespace, so they take turns.
 */
export async function replaceResolvers(text: string): Promise<() => void> {
  // Locks a directory, so that no lock file is left behind.
  const turn = openSync(import.meta.dirname, 'r')
  while (!lockFile(turn, 'exclusive')) await sleep(50)
  const directory = mkdtempSync('/tmp/boxyard-resolv-')
  writeFileSync(`${directory}/resolv.conf`, text)
  mountFilesystem({ source: `${directory}/resolv.conf`, target: '/etc/resolv.conf', type: null, flags: MS.BIND })
  return () => {
    unmount('/etc/resolv.conf')
    rmSync(directory, { recursive: true, force: true })
    closeSync(turn)
  }
}

/** Milliseconds that a test file may wait for its turn. */
export const TURN_MS = 180_000
