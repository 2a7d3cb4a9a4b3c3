import { readdirSync, readFileSync } from 'node:fs'
import type { TestService } from '../../helpers/service.ts'
import { residentBytes } from '../memory-peak.ts'

/** What the two processes of a service hold. */
export type ServiceUsage = Record<'agent' | 'front', { mib: number; descriptors: number }>

/** Reads it. @throws Error if one does not run */
export function usageOf({ agentPid, dataDir }: TestService): ServiceUsage {
  return { agent: usageOfProcess(agentPid), front: usageOfProcess(frontOf(dataDir)) }
}

function usageOfProcess(pid: number): ServiceUsage['agent'] {
  return { mib: Math.round(residentBytes(pid) / 1024 ** 2), descriptors: readdirSync(`/proc/${pid}/fd`).length }
}

function frontOf(dataDir: string): number {
  const isFront = (pid: string): boolean => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
      return command.endsWith('/functions/standalone.ts\0') && environment.includes(`BOXYARD_DATA_DIR=${dataDir}\0`)
    } catch {
      return false
    }
  }
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && isFront(name))
  if (pid === undefined) throw new Error('The front does not run.')
  return Number(pid)
}
