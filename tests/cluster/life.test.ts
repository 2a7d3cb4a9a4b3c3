import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import { findPart, startPart, stopPart } from '../../infra/cluster/part-process.ts'
import { clusterParts } from '../../infra/cluster/part-table.ts'
import { clusterPaths, readRecord } from '../../infra/cluster/record.ts'
import { startCluster } from '../../infra/cluster/start.ts'
import { stopCluster } from '../../infra/cluster/stop.ts'
import { untilSucceeds } from '../helpers/eventually.ts'
import { findHostTraces } from '../helpers/host-traces.ts'
import { busyboxPod } from '../helpers/pods/busybox-pod.ts'
import { kubectl, kubectlWith, succeed } from '../helpers/pods/kubectl.ts'

// These clusters run beside the cluster of the whole suite.

const name = `life-${process.pid}`

// Ignores what a concurrent test created before and has removed since.
const leftSince = (before: readonly string[]): string[] =>
  findHostTraces(name).filter((trace) => !before.includes(trace))

afterEach(async () => {
  await stopCluster(name)
})

test('pods outlive the death of every part, and the cluster leaves nothing behind', async () => {
  const before = findHostTraces(name)
  const cluster = await startCluster(name, () => undefined)
  const here = `--kubeconfig=${cluster.adminKubeconfig}`
  succeed(kubectlWith(busyboxPod('one'), here, 'create', '-f', '-'))
  succeed(kubectl(here, 'wait', 'pod/one', '--for=condition=Ready', '--timeout=100s'))
  expect(leftSince(before)).not.toEqual([])
  const record = readRecord(name)
  if (record === null) throw new Error('The cluster has no record.')
  for (const part of clusterParts(record)) {
    await stopPart(name, part, 'SIGKILL')
    expect(findPart(name, part)).toBe(null)
    await startPart(name, part)
  }
  expect(await startCluster(name, () => undefined)).toEqual(cluster)
  expect(succeed(kubectl(here, 'exec', 'one', '--', 'echo', 'alive')).stdout).toBe('alive\n')
  const restarts = 'jsonpath={.status.containerStatuses[0].restartCount}'
  expect(succeed(kubectl(here, 'get', 'pod', 'one', '-o', restarts)).stdout).toBe('0')
  for (const part of ['kubelet', 'containerd'] as const) await stopPart(name, part, 'SIGKILL')
  expect(await stopCluster(name)).toBe(true)
  await untilSucceeds(async () => expect(leftSince(before)).toEqual([]))
})

test('a start that is cut off leaves nothing once the cluster is taken down', async () => {
  const before = findHostTraces(name)
  const starting = spawn(process.execPath, ['infra/cluster-up.ts', name], { stdio: 'ignore' })
  const ended = once(starting, 'exit')
  while (!existsSync(join(clusterPaths(name).run, 'kubelet.json')) && starting.exitCode === null) await sleep(20)
  starting.kill('SIGKILL')
  await ended
  expect(leftSince(before)).not.toEqual([])
  expect(await stopCluster(name)).toBe(true)
  await untilSucceeds(async () => expect(leftSince(before)).toEqual([]))
  expect(await stopCluster(name)).toBe(false)
})
