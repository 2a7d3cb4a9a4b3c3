import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockFile } from '../../../agent/lib/syscalls/descriptors.ts'
import { MS, mountFilesystem, unmount } from '../../../agent/lib/syscalls/mounts.ts'

/**
 * Replaces /etc/resolv.conf in the mount namespace of the tests. Test files share it, so each waits for a lock. Returns a function that
 * restores the file and releases the lock.
 */
export async function replaceResolvers(text: string): Promise<() => void> {
  // Locks a directory, which avoids a leftover lock file.
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

/** Time that a test file may wait for the lock, in ms. */
export const TURN_MS = 180_000
