import { expect, test } from '@jest/globals'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import { createKubeClusterFacts } from '../../../agent/drivers/pods/cluster-facts.ts'
import { podResources } from '../../../agent/drivers/pods/spec.ts'
import type { ClusterFacts } from '../../../agent/ports/boxes/cluster-facts.ts'

const LARGE = [
  [1, 16_384],
  [4, 512],
] as const

/** Returns a box's pod for which the scheduler has found no node. */
function unplaced(cpus: number, ramMb: number): Pod {
  const message = '0/1 nodes are available.'
  return {
    metadata: { name: 'box-a' },
    spec: { containers: [{ name: 'box', resources: podResources({ cpus, ramMb }) }] },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
    },
  }
}

function factsOf(pods: Pod[]): { facts: ClusterFacts; change(pod: Pod): void } {
  let change: (pod: Pod) => void = () => undefined
  const facts = createKubeClusterFacts({
    api: {
      namespace: 'boxes',
      nodes: async () => [{ metadata: { name: 'n1' } }],
      countPods: async () => 0,
      faults: () => [],
    },
    pods: {
      all: () => pods,
      fault: () => null,
      onChange: (listener) => {
        change = (pod) => listener(pod, 'modified')
        return () => undefined
      },
    },
    node: 'n1',
    now: () => 0,
  })
  return { facts, change: (pod) => change(pod) }
}

test.each(LARGE)(
  'a box of %d CPUs and %d MiB that no node has room for leaves its node open to others',
  async (cpus, ramMb) => {
    const pod = unplaced(cpus, ramMb)
    const { facts, change } = factsOf([pod])
    let refusals = 0
    facts.onRefusal(() => refusals++)
    change(pod)
    expect([refusals, (await facts.place()).refusal]).toEqual([0, null])
  },
)

test('a box of usual size that no node has room for closes its node, also behind a large one', async () => {
  const pods = [unplaced(4, 512), unplaced(1, 512)]
  const { facts, change } = factsOf(pods)
  let refusals = 0
  facts.onRefusal(() => refusals++)
  for (const pod of pods) change(pod)
  const refusal = 'The cluster cannot place it: 0/1 nodes are available.'
  expect([refusals, (await facts.place()).refusal]).toEqual([1, refusal])
})
