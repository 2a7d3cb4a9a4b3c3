import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { promisify } from 'node:util'
import type { TestService } from '../helpers/service.ts'

/** Runs a shell line in the pool of a service, which is mounted only in the agent's mount namespace. Throws if it fails. */
export async function inPool({ agentPid }: TestService, line: string): Promise<void> {
  const mounts = fs.readFileSync(`/proc/${agentPid}/mountinfo`, 'utf8').split('\n')
  const pool = String(mounts.find((mount) => mount.includes(' - btrfs '))?.split(' ')[4])
  const shell = ['bash', '-o', 'pipefail', '-ec', `cd ${pool}; ${line}`]
  await promisify(execFile)('nsenter', ['-t', String(agentPid), '-m', ...shell])
}
