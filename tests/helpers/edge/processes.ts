import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../eventually.ts'

/** Returns the pids with a matching command line. Its first element is the program. */
export function pidsWith(isOne: (args: string[]) => boolean): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const isIt = /^\d+$/.test(name) && isOne(readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0'))
      return isIt ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

/** Returns the pids of the edge that has files in a run directory. */
export function pidsOfEdge(runDir: string): number[] {
  return pidsWith((args) => args[0]?.endsWith('haproxy') === true && args.some((arg) => arg.includes(`${runDir}/`)))
}

/** Returns the pids of a service's edge. */
export function edgePidsOf({ dataDir }: { dataDir: string }): number[] {
  return pidsOfEdge(`/${readFileSync(join(dataDir, 'instance'), 'utf8').trim()}`)
}

/** Stops a process until SIGCONT. Resolves once all its threads have stopped. */
export async function freezeProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const isStill = (thread: string): boolean =>
    /^State:\sT/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))
  await eventually(() => readdirSync(`/proc/${pid}/task`).every(isStill))
}
