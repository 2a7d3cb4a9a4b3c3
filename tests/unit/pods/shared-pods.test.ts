import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import { createSharedPods, type SharedPods } from '../../../agent/drivers/pods/shared-pods.ts'
import type { PodChange } from '../../../agent/lib/kube/watch.ts'
import { eventually } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

/** A cluster that holds the pods of one maker, and reports each change at once. */
class Cluster {
  readonly pods = new Map<string, Pod>()
  readonly calls: string[] = []
  readonly #listeners = new Set<(pod: Pod, change: PodChange) => void>()
  /** Changes each new pod, as the scheduler and kubelet do. */
  onMade = (_pod: Pod): void => undefined
  failure: Error | null = null
  /** Pods that the maker sees. */
  view = (): Pod[] => this.list()
  closed: string[] = []
  shared: SharedPods | undefined
  #version = 0

  open(size: number): SharedPods {
    this.shared = createSharedPods({
      api: {
        namespace: 'boxyard',
        pods: {
          create: async (pod) => {
            this.calls.push('create')
            if (this.failure !== null) throw this.failure
            const uid = `uid-${pod.metadata?.name}`
            const made = { ...pod, metadata: { ...pod.metadata, uid, resourceVersion: '0' }, status: {} }
            this.#tell(made, 'added')
            setImmediate(() => this.onMade(made))
            return made
          },
          delete: async (name, { version }) => {
            this.calls.push('delete')
            const pod = this.pods.get(name)
            if (pod === undefined || (version !== undefined && pod.metadata?.resourceVersion !== version)) return
            this.drop(pod)
          },
        },
      },
      pods: {
        all: () => this.view(),
        get: (uid) => this.list().find(({ metadata }) => metadata?.uid === uid) ?? null,
        onChange: (listener) => {
          this.#listeners.add(listener)
          return () => this.#listeners.delete(listener)
        },
        fault: () => null,
      },
      ...{ instanceId: 'abcd1234', image: 'pause:1', size, logger: silentLogger, patienceMs: 300, pauseMs: 5 },
      ready: { count: () => 0, onTurn: () => undefined },
      closedNodes: () => this.closed,
    })
    this.shared.start()
    return this.shared
  }

  list(): Pod[] {
    return [...this.pods.values()]
  }

  change(pod: Pod, changes: Pick<Pod, 'spec' | 'status'> & { labels?: Record<string, string> }): void {
    const { labels, ...rest } = changes
    const resourceVersion = `${++this.#version}`
    const metadata = { ...pod.metadata, resourceVersion, labels: { ...pod.metadata?.labels, ...labels } }
    const known = this.pods.get(pod.metadata?.name ?? '')
    if (known !== undefined) this.#tell({ ...known, ...rest, metadata }, 'modified')
  }

  drop(pod: Pod): void {
    this.pods.delete(pod.metadata?.name ?? '')
    for (const listener of this.#listeners) listener(pod, 'deleted')
  }

  #tell(pod: Pod, change: PodChange): void {
    this.pods.set(pod.metadata?.name ?? '', pod)
    for (const listener of this.#listeners) listener(pod, change)
  }
}

const SIZE = { cpus: 1, ramMb: 64 }
const onNode = (nodeName: string): Pick<Pod, 'spec'> => ({ spec: { containers: [], nodeName } })
const RUNNING = { status: { phase: 'Running' } }

describe('the warm pods of a fleet', () => {
  let cluster: Cluster
  beforeEach(() => {
    cluster = new Cluster()
  })
  afterEach(() => cluster.shared?.close())

  const ready = (pod: Pod, node = 'n2'): void =>
    cluster.change(pod, { ...onNode(node), ...RUNNING, labels: { 'boxyard.dev/instance': 'zzzz9999' } })

  test('are as many as they should be, whichever node has them, and one that a box takes is made again', async () => {
    cluster.onMade = ready
    cluster.open(3)
    await eventually(() => cluster.list().length === 3, 5)
    const [taken] = cluster.list()
    if (taken !== undefined) cluster.drop(taken)
    await eventually(() => cluster.list().length === 3, 5)
    expect(cluster.calls).toEqual(['create', 'create', 'create', 'create'])
  })

  test('that fail are made again elsewhere, more slowly each time', async () => {
    const nodes: string[] = []
    cluster.onMade = (pod) => {
      const avoided = JSON.stringify(pod.spec?.affinity ?? {})
      const node = avoided.includes('"n1"') ? 'n2' : 'n1'
      nodes.push(node)
      if (node === 'n1') cluster.change(pod, { ...onNode(node), status: { phase: 'Failed' } })
      else ready(pod, node)
    }
    cluster.open(1)
    await eventually(() => nodes.includes('n2') && cluster.list().length === 1, 5)
    expect(nodes).toEqual(['n1', 'n2'])
  })

  test('that run, and that no agent takes, are made again', async () => {
    let count = 0
    cluster.onMade = (pod) => {
      count += 1
      if (count === 1) cluster.change(pod, { ...onNode('n1'), ...RUNNING })
      else ready(pod)
    }
    cluster.open(1)
    await eventually(() => count === 2 && cluster.list().length === 1, 5)
  })

  test('are not made where agents take none, and not at all once all but the last of many are so', async () => {
    cluster.closed = ['n7']
    cluster.onMade = ready
    const shared = cluster.open(1)
    await eventually(() => cluster.list().length === 1, 5)
    expect(JSON.stringify(cluster.list()[0]?.spec)).not.toContain('n8')
    expect(await shared.choose(SIZE, { closedNodes: Array.from({ length: 101 }, (_, i) => `m${i}`) })).toBeNull()
    expect(cluster.list()).toHaveLength(1)
  })

  test('that have no place, since they avoid a node that takes pods again, are made anew', async () => {
    cluster.closed = ['n7']
    cluster.onMade = (pod) => (cluster.closed.length > 0 ? cluster.change(pod, { status: unplaced }) : ready(pod, 'n7'))
    cluster.open(1)
    await eventually(() => cluster.list()[0]?.status?.phase === 'Pending', 5)
    cluster.closed = []
    await eventually(() => cluster.list().length === 1 && cluster.list()[0]?.spec?.nodeName === 'n7', 5)
    expect(cluster.calls).toEqual(['create', 'delete', 'create'])
  })

  test('one more is put where the scheduler wants it, and is taken away if no box has it for long', async () => {
    cluster.onMade = (pod) => ready(pod, 'n3')
    const shared = cluster.open(0)
    expect(await shared.choose({ cpus: 2, ramMb: 256 }, { closedNodes: [] })).toBe('n3')
    expect(cluster.list()).toHaveLength(1)
    await eventually(() => cluster.list().length === 0, 5)
  })

  test('one too many that has changed since it was looked at stays', async () => {
    cluster.onMade = ready
    const shared = cluster.open(0)
    await shared.choose(SIZE, { closedNodes: [] })
    const [made] = cluster.list()
    const { resourceVersion = '' } = made?.metadata ?? {}
    // The maker's view lags behind, and by now the pod belongs to a box.
    cluster.view = () => cluster.list().map((pod) => ({ ...pod, metadata: { ...pod.metadata, resourceVersion } }))
    if (made !== undefined) cluster.change(made, {})
    await eventually(() => cluster.calls.filter((call) => call === 'delete').length >= 2, 5)
    expect(cluster.list()).toHaveLength(1)
  })

  test.each<[string, (pod: Pod) => void]>([
    ['has no place', (pod) => cluster.change(pod, { status: unplaced })],
    ['fails', (pod) => cluster.change(pod, { ...onNode('n1'), status: { phase: 'Failed' } })],
    ['is deleted', (pod) => cluster.drop({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026' } })],
  ])('one more that %s is told, and leaves nothing', async (_, onMade) => {
    cluster.onMade = onMade
    const shared = cluster.open(0)
    expect(await shared.choose(SIZE, { closedNodes: [] })).toBeNull()
    expect(cluster.list()).toEqual([])
  })

  test('one more that a box has at once was ready', async () => {
    cluster.onMade = (pod) => cluster.drop({ ...pod, ...onNode('n3') })
    expect(await cluster.open(0).choose(SIZE, { closedNodes: [] })).toBe('n3')
  })

  test('none is chosen while the cluster cannot be asked, nor once the agent ends', async () => {
    cluster.failure = new Error('the API server is away')
    const shared = cluster.open(0)
    expect(await shared.choose(SIZE, { closedNodes: [] })).toBeNull()
    cluster.failure = null
    const waiting = shared.choose(SIZE, { closedNodes: [] })
    await eventually(() => cluster.list().length === 1, 5)
    await shared.close()
    expect(await waiting).toBeNull()
  })
})

const unplaced = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', message: 'no room' }] }
