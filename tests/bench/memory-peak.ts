import { readFileSync } from 'node:fs'

/** Looks at the memory of a process every 20 ms; `stop` tells by how many MB (10⁶) it was above the first look at most. */
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

function residentBytes(pid: number): number {
  const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) * 1024
}

const LOOK_MS = 20
