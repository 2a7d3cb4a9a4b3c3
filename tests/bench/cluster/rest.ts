import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { openKubeCredentials } from '../../../agent/lib/kube/credentials.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { createBox } from '../context.ts'
import { report } from '../figures.ts'
import { openCountingProxy } from './request-count.ts'
import { type ClusterBench, startClusterService } from './service.ts'

/** Measures the API requests, memory and CPU time of an idle agent with 50 running boxes. */
export async function benchClusterRest(bench: ClusterBench): Promise<void> {
  const credentials = await openKubeCredentials(bench.agentKubeconfig, silentLogger)
  const proxy = await openCountingProxy(await credentials.current())
  try {
    const at = await startClusterService({ ...bench, agentKubeconfig: proxy.kubeconfig })
    try {
      for (let first = 0; first < BOXES; first += AT_ONCE) {
        await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => createBox(at.client, `rest-${first + i}`)))
      }
      await at.pods.until('all pods run', (pods) => pods.filter(({ isRunning }) => isRunning).length === BOXES)
      await sleep(SETTLE_MS)
      const each = `${(proxy.requests().length / BOXES).toFixed(1)} each`
      report(`cluster: requests to start and make ${BOXES} boxes`, each, 'told', true)
      const pid = at.service.agentPid
      const before = { requests: proxy.requests().length, cpuMs: cpuMsOf(pid) }
      await sleep(REST_MS)
      const cpuShare = (cpuMsOf(pid) - before.cpuMs) / REST_MS
      const requests = proxy.requests().slice(before.requests)
      const rate = requests.length / (REST_MS / 1000)
      const measured = `${rate.toFixed(2)}/s (${requests.length} in ${REST_MS / 1000} s)`
      report(`cluster: requests at rest, ${BOXES} boxes`, measured, '≤ 1/s', rate <= 1)
      for (const [request, count] of tally(requests)) process.stdout.write(`  ${count} × ${request}\n`)
      report(`cluster: agent RSS, ${BOXES} boxes`, `${residentMib(pid).toFixed(0)} MiB`, 'told', true)
      report(`cluster: agent's cpu at rest, ${BOXES} boxes`, `${(cpuShare * 100).toFixed(1)} % of a core`, 'told', true)
    } finally {
      await at.close()
    }
  } finally {
    await proxy.close()
    credentials.close()
  }
}

function tally(requests: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const request of requests) counts.set(request, (counts.get(request) ?? 0) + 1)
  return counts
}

/** Returns the user and system time of all threads of a process. */
export function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

function residentMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

const BOXES = 50
const AT_ONCE = 10
const SETTLE_MS = 10_000
const REST_MS = 30_000
/** The kernel reports CPU time in hundredths of a second, independent of its own clock. */
const TICK_MS = 10
