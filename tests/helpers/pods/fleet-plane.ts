import { randomUUID } from 'node:crypto'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createKubeDirectory, type KubeDirectory } from '../../../agent/drivers/fleet/directory-kube.ts'
import { type KubeApi, openKubeApi } from '../../../agent/lib/kube/api.ts'
import { formatKubeconfig, writeSecret } from '../../../infra/cluster/keys.ts'
import { startPart, stopPart } from '../../../infra/cluster/part-process.ts'
import { clusterPaths } from '../../../infra/cluster/record.ts'
import { ROOT } from '../../../infra/commands.ts'
import { silentLogger } from '../silent-logger.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { FLEET_KINDS, fleetAgent, fleetHome } from './fleet-objects.ts'
import { succeed } from './kubectl.ts'

/** A cell's directory with its connection to the API server. */
export interface FleetCell {
  directory: KubeDirectory
  api: KubeApi
  close(): void
}

/** A control plane with the product's manifests. A test can add cells, and can stop the API server and etcd. */
export interface FleetPlane extends ControlPlane {
  /** Port of the API server. */
  port: number
  /** Applies the manifests. */
  install(): void
  /** Creates a Node and the `Agent` of a cell on it. Returns the token of that agent. */
  register(cell: string): string
  /** Creates a Node. Returns the path of a kubeconfig for the agent on it. */
  addNode(node: string): string
  /** Creates the directory of a cell. Set `port` to use a proxy to the API server. */
  connect(cell: string, options: { token: string; port?: number }): Promise<FleetCell>
  /** Writes `count` `Home` objects of cell `zz` into etcd, in the API server's storage format. Their projects are `many-0` to `many-99`. */
  seedHomes(count: number): Promise<void>
  stopServer(): Promise<void>
  startServer(): Promise<void>
  /** Compacts etcd's history up to the current revision. */
  compact(): Promise<void>
  /** Copies etcd's data. Stop the API server first, because etcd must not write during the copy. */
  save(): Promise<void>
  /** Replaces etcd's data with the copy. Stop the API server first. */
  restore(): Promise<void>
}

/** Starts the control plane, without the manifests. */
export async function startFleetPlane(nodeCount = 1): Promise<FleetPlane> {
  const plane = await startControlPlane(nodeCount)
  const { name, ports } = plane.record
  const { state } = clusterPaths(name)
  const [data, copy] = [join(state, 'etcd'), join(state, 'etcd-copy')]
  const etcd = (path: string, body: object): Promise<unknown> => askEtcd(ports.etcd, path, body)
  return {
    ...plane,
    port: ports.apiServer,
    install: () => {
      succeed(plane.kubectl('apply', '--kustomize', join(ROOT, 'infra/kubernetes')))
      const kinds = FLEET_KINDS.map(({ plural }) => `crd/${plural}.boxyard.dev`)
      succeed(plane.kubectl('wait', '--for=condition=Established', '--timeout=60s', ...kinds))
    },
    register: (cell) => register(plane, cell),
    addNode: (node) => {
      makeNode(plane, node)
      return plane.writeKubeconfig(`${node}.kubeconfig`, tokenOf(plane, node))
    },
    connect: async (cell, { token, port = ports.apiServer }) => {
      const kubeconfig = join(state, `${cell}-${port}.kubeconfig`)
      writeSecret(kubeconfig, formatKubeconfig({ ...plane.record, ports: { ...ports, apiServer: port } }, token))
      const waits = { watchWaitMs: { min: 50, max: 500 }, now: Date.now }
      const api = await openKubeApi({ kubeconfig, namespace: 'boxyard', logger: silentLogger, ...waits })
      const directory = createKubeDirectory({ api, cell, sendBase: async () => null })
      return {
        directory,
        api,
        close: () => {
          directory.close()
          api.close()
        },
      }
    },
    seedHomes: async (count) => {
      for (let i = 0; i < count; i += PUTS_AT_ONCE) {
        const indexes = Array.from({ length: Math.min(PUTS_AT_ONCE, count - i) }, (_, k) => i + k)
        await etcd('kv/txn', { success: indexes.map((index) => ({ requestPut: storedHome(index) })) })
      }
    },
    stopServer: () => stopPart(name, 'kube-apiserver', 'SIGKILL'),
    startServer: () => startPart(name, 'kube-apiserver'),
    compact: async () => {
      const { header } = (await etcd('kv/range', { key: 'AA==' })) as { header: { revision: string } }
      await etcd('kv/compaction', { revision: header.revision, physical: true })
    },
    save: async () => {
      await stopPart(name, 'etcd')
      cpSync(data, copy, { recursive: true })
      await startPart(name, 'etcd')
    },
    restore: async () => {
      await stopPart(name, 'etcd')
      rmSync(data, { recursive: true })
      cpSync(copy, data, { recursive: true })
      await startPart(name, 'etcd')
    },
  }
}

function register(plane: ControlPlane, cell: string): string {
  const node = `node-${cell}`
  const nodeUid = makeNode(plane, node)
  const { kubectl, kubectlWith } = plane
  succeed(kubectlWith(JSON.stringify(fleetAgent(cell, { node, nodeUid })), 'create', '-f', '-'))
  const cells = JSON.stringify({ data: { [cell]: node } })
  succeed(kubectl('patch', 'configmap/boxyard-cells', SYSTEM, '--type=merge', '-p', cells))
  return tokenOf(plane, node)
}

/** Creates a Node, and returns its uid. */
function makeNode({ kubectlWith }: ControlPlane, name: string): string {
  const node = JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name } })
  return succeed(kubectlWith(node, 'create', '-f', '-', '-o', 'jsonpath={.metadata.uid}')).stdout
}

function tokenOf({ kubectl }: ControlPlane, node: string): string {
  const bound = ['--bound-object-kind=Node', `--bound-object-name=${node}`]
  return succeed(kubectl('create', 'token', 'boxyard-agent', SYSTEM, ...bound)).stdout.trim()
}

/** Returns etcd's key and value for the `Home` of a box from long ago. */
function storedHome(index: number): { key: string; value: string } {
  const encode = (text: string): string => Buffer.from(text).toString('base64')
  const uid = `box_${String(index).padStart(26, '0')}`
  const { apiVersion, kind, metadata, spec } = fleetHome(`box-${index}`, {
    project: `many-${index % 100}`,
    uid,
    cell: 'zz',
  })
  const stored = { ...metadata, uid: randomUUID(), generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' }
  const value = { apiVersion, kind, metadata: stored, spec: { ...spec, epoch: 1, phase: 'Live' } }
  return {
    key: encode(`/registry/boxyard.dev/homes/${metadata.namespace}/${metadata.name}`),
    value: encode(`${JSON.stringify(value)}\n`),
  }
}

/** Sends a request to etcd's JSON API. */
async function askEtcd(port: number, path: string, body: object): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${port}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`etcd answers ${answer.status} ${await answer.text()}`)
  return await answer.json()
}

/** Below etcd's limit for one transaction. */
const PUTS_AT_ONCE = 100
const SYSTEM = '--namespace=boxyard-system'
