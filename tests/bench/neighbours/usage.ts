import { readdirSync } from 'node:fs'
import type { TestService } from '../../helpers/service.ts'
import { residentBytes } from '../memory-peak.ts'

/** Memory and descriptors of the two processes of a service. */
export type ServiceUsage = Record<'agent' | 'front', { mib: number; descriptors: number }>

/** Returns the current usage. @throws Error if a process does not run */
export function usageOf({ agentPid, frontPid }: TestService): ServiceUsage {
  return { agent: usageOfProcess(agentPid), front: usageOfProcess(frontPid) }
}

function usageOfProcess(pid: number): ServiceUsage['agent'] {
  return { mib: Math.round(residentBytes(pid) / 1024 ** 2), descriptors: readdirSync(`/proc/${pid}/fd`).length }
}
