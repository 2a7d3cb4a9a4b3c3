import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import { startNode, stopNode } from '../../infra/cluster/node-life.ts'
import { clusterPaths } from '../../infra/cluster/record.ts'
import { startCluster } from '../../infra/cluster/start.ts'
import { stopCluster } from '../../infra/cluster/stop.ts'
import { untilSucceeds } from '../helpers/eventually.ts'
import { findHostTraces } from '../helpers/host-traces.ts'
import { busyboxPod } from '../helpers/pods/busybox-pod.ts'
import { kubectl, kubectlWith, succeed } from '../helpers/pods/kubectl.ts'

// These clusters run beside the cluster of the whole suite.

const name = `three-${process.pid}`

const leftSince = (before: readonly string[]): string[] =>
  findHostTraces(name).filter((trace) => !before.includes(trace))

afterEach(async () => {
  await stopCluster(name)
})

test('pods on three nodes reach each other, a node that ends is told, and the cluster leaves nothing behind', async () => {
  const before = findHostTraces(name)
  const { adminKubeconfig, nodes } = await startCluster(name, () => undefined, 3)
  const here = (...args: string[]): string => succeed(kubectl(`--kubeconfig=${adminKubeconfig}`, ...args)).stdout
  const names = [1, 2, 3].map((number) => `${hostname().toLowerCase()}-${number}`)
  expect(nodes.map((node) => node.name)).toEqual(names)
  const ready = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'
  expect(here('get', 'nodes', '-o', ready)).toBe('True True True')
  const run = (pod: string, node = ''): void => {
    const spec = { nodeSelector: { 'kubernetes.io/hostname': node } }
    succeed(kubectlWith(busyboxPod(pod, spec), `--kubeconfig=${adminKubeconfig}`, 'create', '-f', '-'))
    here('wait', `pod/${pod}`, '--for=condition=Ready', '--timeout=100s')
  }
  const reach = (from: string, to: string): void => {
    const address = here('get', 'pod', to, '-o', 'jsonpath={.status.podIP}')
    expect(here('exec', from, '--', 'ping', '-c', '1', '-W', '5', address)).toContain('1 packets received')
  }
  for (const [i, pod] of ['a', 'b', 'c'].entries()) run(pod, names[i])
  for (const [from, to] of ['ab', 'bc', 'ca'].map(([from = '', to = '']) => [from, to] as const)) reach(from, to)
  expect(leftSince(before)).not.toEqual([])

  const enter = nodes[2]?.enter ?? ''
  expect(execFileSync(enter, ['sh', '-c', 'hostname && pwd'], { encoding: 'utf8' })).toBe(
    `${names[2]}\n${process.cwd()}\n`,
  )
  const agent = spawn(enter, ['sh', '-c', 'echo entered; exec sleep infinity'])
  const agentEnded = once(agent, 'exit')
  await once(agent.stdout, 'data')
  await stopNode(name, 3)
  expect(await agentEnded).toEqual([null, 'SIGKILL'])
  here('wait', `node/${names[2]}`, '--for=condition=Ready=Unknown', '--timeout=150s')
  expect(here('get', 'nodes', '-o', ready)).toBe('True True Unknown')
  reach('a', 'b')
  await startNode(name, 3)
  here('wait', `node/${names[2]}`, '--for=condition=Ready', '--timeout=100s')
  run('again', names[2])
  reach('again', 'a')
  expect(await stopCluster(name)).toBe(true)
  await untilSucceeds(async () => expect(leftSince(before)).toEqual([]))
})

test.each(['node-2', 'kubelet-2'])(
  'a start that is cut off at %s leaves nothing once it is taken down',
  async (part) => {
    const before = findHostTraces(name)
    const starting = spawn(process.execPath, ['infra/cluster-up.ts', name, '--nodes=2'], { stdio: 'ignore' })
    const ended = once(starting, 'exit')
    while (!existsSync(join(clusterPaths(name).run, `${part}.json`)) && starting.exitCode === null) await sleep(5)
    starting.kill('SIGKILL')
    await ended
    expect(leftSince(before)).not.toEqual([])
    expect(await stopCluster(name)).toBe(true)
    await untilSucceeds(async () => expect(leftSince(before)).toEqual([]))
  },
)
