import fs from 'node:fs'

/**
 * Returns true if this process has a mount namespace of its own. Compares it with process 1, or, where that is unreadable (it holds
 * capabilities we lack), with kthreadd, or else with our parent. Returns false if none is readable.
 */
export function isPrivateMountNamespace(): boolean {
  const own = namespaceOf('self', 'mnt')
  for (const pid of ['1', isKernelThread('2') ? '2' : null, String(process.ppid)]) {
    const other = pid === null ? null : namespaceOf(pid, 'mnt')
    if (other !== null) return own !== other
  }
  return false
}

/** Throws, with the remedy, unless this process has its own mount namespace, so that its mounts vanish with it. */
export function assertPrivateMountNamespace(): void {
  if (isPrivateMountNamespace()) return
  throw new Error('The agent needs its own mount namespace. Start it with `unshare --mount --propagation slave`.')
}

/** Returns the identity of a process's namespace. Null if it is unreadable, or the process has ended. */
export function namespaceOf(pid: string, kind: 'mnt' | 'net'): string | null {
  try {
    return fs.readlinkSync(`/proc/${pid}/ns/${kind}`)
  } catch {
    return null
  }
}

function isKernelThread(pid: string): boolean {
  try {
    return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'kthreadd'
  } catch {
    return false
  }
}
