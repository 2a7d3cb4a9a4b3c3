import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from './eventually.ts'

/** The processes of the edge whose files are in a run directory. */
export function edgePids(runDir: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    if (!Number.isInteger(pid)) return []
    try {
      const args = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
      return args[0]?.endsWith('haproxy') && args.some((arg) => arg.includes(`${runDir}/`)) ? [pid] : []
    } catch {
      return []
    }
  })
}

/** The processes of the edge of a service. */
export function edgePidsOf({ dataDir }: { dataDir: string }): number[] {
  return edgePids(`/${readFileSync(join(dataDir, 'instance'), 'utf8').trim()}`)
}

/** Has a process stand still until it is told to go on (SIGCONT); resolves once no thread of it runs any more. */
export async function freezeProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const isStill = (thread: string): boolean =>
    /^State:\sT/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))
  await eventually(() => readdirSync(`/proc/${pid}/task`).every(isStill))
}
