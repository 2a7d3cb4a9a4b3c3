import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { withLock } from '../../../infra/cluster/host-lock.ts'
import { noteHostState } from '../../../infra/cluster/host-state.ts'
import { formatKubeconfig, writeKeys, writeSecret } from '../../../infra/cluster/keys.ts'
import { makeNode } from '../../../infra/cluster/node-life.ts'
import { createBridge } from '../../../infra/cluster/node-space.ts'
import { clusterNodes } from '../../../infra/cluster/nodes.ts'
import { launchPart, waitForPart } from '../../../infra/cluster/part-process.ts'
import { buildPrograms } from '../../../infra/cluster/programs.ts'
import { type ClusterRecord, clusterPaths, createClusterRecord } from '../../../infra/cluster/record.ts'
import { destroyCluster, stopCluster } from '../../../infra/cluster/stop.ts'
import type { KubectlResult } from './kubectl.ts'

/** A real etcd and kube-apiserver for one test file. It starts within seconds, since it has no kubelet, controllers or scheduler. */
export interface ControlPlane {
  record: ClusterRecord
  /** Kubeconfig of its administrator. */
  kubeconfig: string
  /** Runs kubectl, as the administrator, with `input` on stdin. */
  kubectlWith(input: string, ...args: string[]): KubectlResult
  /** Runs kubectl as the administrator without input. */
  kubectl(...args: string[]): KubectlResult
  /** Writes a kubeconfig with `token`, and returns its path. */
  writeKubeconfig(file: string, token: string): string
  close(): Promise<void>
}

/**
 * Starts a control plane. Its name is like a test run's cluster, so that the next run removes it if this process dies. With several nodes,
 * creates their namespaces and links, in which a test can run its own programs.
 */
export async function startControlPlane(nodeCount = 1): Promise<ControlPlane> {
  const name = `test-${process.pid}`
  const programs = await buildPrograms(() => undefined)
  try {
    const record = await withLock(`cluster:${name}`, () => start(name, programs, nodeCount))
    const { state, adminKubeconfig: kubeconfig } = clusterPaths(name)
    const kubectlWith = (input: string, ...args: string[]): KubectlResult => {
      const flags = ['--kubeconfig', kubeconfig, '--cache-dir', join(state, 'kubectl'), ...args]
      const options = { input, encoding: 'utf8', timeout: KUBECTL_MS } as const
      const { status, stdout, stderr, error } = spawnSync(join(programs, 'kubectl'), flags, options)
      if (error) throw error
      return { exitCode: status, stdout, stderr }
    }
    return {
      record,
      kubeconfig,
      kubectlWith,
      kubectl: (...args) => kubectlWith('', ...args),
      writeKubeconfig: (file, token) => {
        const path = join(state, file)
        writeSecret(path, formatKubeconfig(record, token))
        return path
      },
      close: async () => void (await stopCluster(name)),
    }
  } catch (error) {
    await stopCluster(name)
    throw error
  }
}

async function start(name: string, programs: string, nodeCount: number): Promise<ClusterRecord> {
  await destroyCluster(name)
  const record = await withLock('host', async () => {
    noteHostState()
    return await createClusterRecord(name, programs, nodeCount)
  })
  launchPart(record, 'etcd')
  if (nodeCount > 1) {
    createBridge(record)
    await Promise.all(clusterNodes(record).map((node) => makeNode(record, node)))
  }
  await writeKeys(record)
  launchPart(record, 'kube-apiserver')
  await waitForPart(record, 'kube-apiserver')
  return record
}

const KUBECTL_MS = 60_000
