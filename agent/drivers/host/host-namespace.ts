import { statSync } from 'node:fs'

/** Returns the command prefix that starts a program in the host's mount namespace, so that it does not pin this process's mounts. */
export function mountNamespace(directory: string): string[] {
  try {
    const [here, there] = [statSync(directory), statSync(`/proc/1/root${directory}`)]
    return here.ino === there.ino && here.dev === there.dev ? ['nsenter', '--target', '1', '--mount', '--'] : []
  } catch {
    return []
  }
}
