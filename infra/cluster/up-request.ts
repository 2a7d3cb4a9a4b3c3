import { parseArgs } from 'node:util'
import { MAX_NODES } from './nodes.ts'
import type { RunningCluster } from './start.ts'

/**
 * Reads the arguments `[NAME] [--nodes N]` of `npm run cluster:up` and `fleet:up`. The default name is `fallback`.
 * @throws Error if there are others, or N is not 1 to MAX_NODES
 */
export function readUpRequest(
  args: readonly string[],
  fallback = 'default',
): { name: string; nodeCount: number | undefined } {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { nodes: { type: 'string' } },
    allowPositionals: true,
  })
  const [name = fallback, ...others] = positionals
  if (others.length > 0) throw new Error(`Give one name for the cluster, not several: ${positionals.join(' ')}`)
  if (values.nodes === undefined) return { name, nodeCount: undefined }
  const nodeCount = Number(values.nodes)
  if (!/^\d+$/.test(values.nodes) || nodeCount < 1 || nodeCount > MAX_NODES) {
    throw new Error(`--nodes: must be 1 to ${MAX_NODES}, not ${values.nodes}`)
  }
  return { name, nodeCount }
}

/**
 * Formats how to use a cluster, a line each: the settings of an agent on each node, and last the KUBECONFIG of its administrator. With
 * several nodes, a comment before the settings names the node and how to start a program there.
 */
export function describeUse({ adminKubeconfig, nodes }: RunningCluster): string[] {
  const blocks = nodes.flatMap(({ name, settings, enter }) => [
    ...(enter === null ? [] : [`# ${name} (${enter} COMMAND…)`]),
    ...Object.entries(settings).map(([setting, value]) => `${setting}=${value}`),
  ])
  return [...blocks, `KUBECONFIG=${adminKubeconfig}`]
}
