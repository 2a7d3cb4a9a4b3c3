import { readFileSync } from 'node:fs'

/** Samples the resident memory of a process every 20 ms. `stop` returns its peak above the first sample, in MB (10⁶). */
export function watchMemory(pid: number): { stop(): number } {
  const first = residentBytes(pid)
  let most = first
  const look = (): void => {
    most = Math.max(most, residentBytes(pid))
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    stop: () => {
      clearInterval(timer)
      look()
      return (most - first) / 1e6
    },
  }
}

/** Returns the resident memory of a process. @throws Error if it does not run */
export function residentBytes(pid: number): number {
  const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) * 1024
}

const LOOK_MS = 20
