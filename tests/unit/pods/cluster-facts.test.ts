import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Node, Pod } from 'kubernetes-types/core/v1.d.ts'
import { createKubeClusterFacts } from '../../../agent/drivers/pods/cluster-facts.ts'
import { findNodeProblems, findPodProblems } from '../../../agent/drivers/pods/cluster-facts-problems.ts'
import type { PodWatch } from '../../../agent/lib/kube/watch.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { nodeSchema } from '../../../shared/schemas/health.ts'
import { type FaultyKube, sendJson, sendStatus, startFaultyKube } from '../../helpers/pods/faulty-kube.ts'

const NOW = Date.parse('2026-01-01T00:10:00Z')
const secondsAgo = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString()

const node = (conditions: [string, string][], extra: Partial<Node> = {}): Node => ({
  metadata: { name: 'n1', labels: { 'boxyard.dev/node': 'true' } },
  status: {
    conditions: conditions.map(([type, status]) => ({ type, status, reason: 'Because', message: 'of  that' })),
    allocatable: { cpu: '1930m', memory: '16Gi', pods: '250' },
    capacity: { cpu: '2', memory: '24574668Ki', pods: '256' },
  },
  ...extra,
})

interface PodShape {
  phase?: string
  age?: number
  waiting?: string
  scheduled?: string
  sandbox?: string
}

const pod = (id: string, { phase = 'Pending', age = 60, waiting, scheduled, sandbox }: PodShape): Pod => {
  const condition = (type: string, status: string | undefined) =>
    status === undefined ? [] : [{ type, status, reason: 'Unschedulable', message: '0/1 nodes are available.' }]
  return {
    metadata: { name: `box-${id}`, labels: { 'boxyard.dev/box-id': id }, creationTimestamp: secondsAgo(age) },
    spec: { containers: [], nodeName: 'n1' },
    status: {
      phase,
      conditions: [...condition('PodScheduled', scheduled), ...condition('PodReadyToStartContainers', sandbox)],
      containerStatuses: waiting
        ? [
            {
              ...{ name: 'box', image: '', imageID: '', ready: false, restartCount: 0 },
              state: { waiting: { reason: waiting, message: 'x'.repeat(500) } },
            },
          ]
        : [],
    },
  }
}

describe('problems of nodes', () => {
  const codesOf = (nodes: Node[]) => findNodeProblems(nodes).map(({ code }) => code)

  test('are none while all is well', () => {
    expect(
      codesOf([
        node([
          ['Ready', 'True'],
          ['MemoryPressure', 'False'],
        ]),
      ]),
    ).toEqual([])
  })

  test.each([
    ['Ready', 'False', 'kubernetes_node_not_ready'],
    ['Ready', 'Unknown', 'kubernetes_node_not_ready'],
    ['MemoryPressure', 'True', 'kubernetes_node_pressure'],
    ['DiskPressure', 'True', 'kubernetes_node_pressure'],
    ['PIDPressure', 'True', 'kubernetes_node_pressure'],
  ])('include %s being %s', (type, status, code) => {
    const [problem, ...others] = findNodeProblems([node([[type, status]])])
    expect(problem?.code).toBe(code)
    expect(problem?.evidence).toMatch(/^Node n1 .*Because: of that$/)
    expect(others).toEqual([])
  })

  test('include a node that takes no pods, and a cluster without a node for boxes', () => {
    expect(codesOf([node([['Ready', 'True']], { spec: { unschedulable: true } })])).toEqual([
      'kubernetes_node_cordoned',
    ])
    expect(codesOf([node([['Ready', 'False']], { metadata: { name: 'other' } })])).toEqual(['kubernetes_no_node'])
  })
})

describe('problems of pods', () => {
  const codesOf = (shape: PodShape) => findPodProblems([pod('a', shape)], NOW).map(({ code }) => code)

  test.each<[PodShape, string[]]>([
    [{ phase: 'Running' }, []],
    [{ scheduled: 'False', age: 5 }, []],
    [{ scheduled: 'False', age: 11 }, ['kubernetes_unschedulable']],
    [{ scheduled: 'True', sandbox: 'False', age: 20 }, []],
    [{ scheduled: 'True', sandbox: 'False', age: 31 }, ['kubernetes_sandbox']],
    [{ scheduled: 'True', sandbox: 'True', age: 90 }, []],
    [{ waiting: 'ContainerCreating' }, []],
    [{ waiting: 'ErrImageNeverPull', age: 1 }, ['kubernetes_image']],
    [{ waiting: 'ImagePullBackOff' }, ['kubernetes_image']],
    [{ waiting: 'ErrImagePull' }, ['kubernetes_image']],
    [{ waiting: 'CreateContainerError' }, ['kubernetes_container']],
    [{ waiting: 'RunContainerError' }, ['kubernetes_container']],
  ])('%j: %j', (shape, codes) => {
    expect(codesOf(shape)).toEqual(codes)
  })

  test('with one cause are reported together, and briefly', () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const problems = findPodProblems(
      [...ids.map((id) => pod(id, { scheduled: 'False' })), pod('h', { waiting: 'ErrImagePull' })],
      NOW,
    )
    expect(problems.map(({ evidence }) => evidence)).toEqual([
      'The scheduler finds no node. 0/1 nodes are available. (7 boxes: a, b, c, d, e, …)',
      `A node cannot get the image of box pods. ErrImagePull: ${'x'.repeat(200)}… (1 box: h)`,
    ])
  })

  test('exclude pods that are being deleted', () => {
    const leaving = pod('a', { waiting: 'ErrImagePull' })
    expect(
      findPodProblems([{ ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: secondsAgo(0) } }], NOW),
    ).toEqual([])
  })
})

describe('the facts of a cluster', () => {
  let kube: FaultyKube
  let fault: ReturnType<PodWatch['fault']>
  let change: (pod: Pod) => void
  const factsOf = (pods: Pod[], deadlineMs = 30_000) => {
    const onChange: PodWatch['onChange'] = (listener) => {
      change = (changed) => listener(changed, 'modified')
      return () => undefined
    }
    return createKubeClusterFacts({
      api: kube.api,
      pods: { all: () => pods, fault: () => fault, onChange },
      node: 'n1',
      now: () => NOW,
      deadlineMs,
    })
  }

  beforeEach(async () => {
    kube = await startFaultyKube()
    fault = null
    answerWith(node([['Ready', 'True']]))
  })

  /** Answers as a cluster with one node that runs three pods. */
  const answerWith = (item: Node): void =>
    kube.answer(({ path }, response) =>
      sendJson(response, path === '/api/v1/nodes' ? { items: [item] } : { rows: [{}, {}, {}] }),
    )

  afterEach(() => kube.close())

  test('tell what the node takes: its warm pods, and why it takes none', async () => {
    const warm = (id: string, shape: PodShape): Pod => {
      const made = pod(id, shape)
      return { ...made, metadata: { ...made.metadata, labels: { 'boxyard.dev/warm': 'true' } } }
    }
    const pods = [warm('a', { phase: 'Running' }), warm('b', {}), pod('c', { phase: 'Running' })]
    expect(await factsOf(pods).place()).toEqual({ warm: 1, refusal: null })
    const waiting = pod('d', { scheduled: 'False', age: 0 })
    const refusal = 'The cluster cannot place it: 0/1 nodes are available.'
    expect(await factsOf([...pods, waiting]).place()).toEqual({ warm: 1, refusal })
    let refusals = 0
    factsOf(pods).onRefusal(() => refusals++)
    change(pod('c', { phase: 'Running' }))
    change(waiting)
    expect(refusals).toBe(1)
    answerWith(node([['Ready', 'True']], { spec: { unschedulable: true } }))
    expect((await factsOf(pods).place()).refusal).toBe('Node n1 is cordoned.')
    answerWith(node([['Ready', 'Unknown']]))
    expect((await factsOf(pods).place()).refusal).toBe('Node n1 is not ready.')
    kube.answer((_request, response) => sendJson(response, { items: [] }))
    expect((await factsOf(pods).place()).refusal).toBe('The cluster has no node "n1".')
  })

  test('are its own figures, listed once for concurrent polls', async () => {
    const facts = factsOf([pod('a', { phase: 'Running' }), pod('b', { phase: 'Failed' })])
    const [report] = await Promise.all([facts.report(), facts.report(), facts.report()])
    expect(report).toEqual({
      namespace: 'boxes',
      nodes: [
        {
          name: 'n1',
          cpu_allocatable: '1930m',
          cpu_capacity: '2',
          memory_allocatable_bytes: 16 * 1024 ** 3,
          memory_capacity_bytes: 24_574_668 * 1024,
          pods_allocatable: 250,
          pods_capacity: 256,
          pods_running: 3,
          boxes: 1,
          ready: true,
        },
      ],
      problems: [],
    })
    await facts.report()
    expect(kube.requests.map(({ path }) => path)).toEqual(['/api/v1/nodes', '/api/v1/pods'])
  })

  test('count all running pods of a node without what their owners wrote, and boxes beside them', async () => {
    const waiting = pod('c', { phase: 'Running' })
    const warm = { ...waiting, metadata: { name: 'warm-c', labels: { 'boxyard.dev/warm': 'true' } } }
    const elsewhere = { ...pod('d', { phase: 'Running' }), spec: { containers: [], nodeName: 'n2' } }
    const { nodes } = await factsOf([pod('a', { phase: 'Running' }), pod('b', {}), warm, elsewhere]).report()
    expect(nodes.map(({ name, pods_running, boxes }) => [name, pods_running, boxes])).toEqual([['n1', 3, 1]])
    const asked = kube.requests.find(({ path }) => path === '/api/v1/pods')
    expect(asked?.query.get('fieldSelector')).toBe('spec.nodeName=n1,status.phase=Running')
    expect(asked?.accept).toContain('as=Table')
    expect(asked?.query.get('includeObject')).toBe('None')
  })

  test('are empty for nodes whose pods may not be counted, with the missing verb and other problems', async () => {
    const cordoned = node([['Ready', 'True']], { spec: { unschedulable: true } })
    kube.answer(({ path }, response) => {
      if (path === '/api/v1/nodes') sendJson(response, { items: [cordoned] })
      else sendStatus(response, 403, 'Forbidden')
    })
    const { nodes, problems } = await factsOf([]).report()
    expect(nodes).toEqual([])
    expect(problems).toMatchObject([
      { code: 'kubernetes_node_cordoned' },
      { code: 'kubernetes_forbidden', evidence: 'The agent is not allowed to list pods.' },
    ])
  })

  test('are empty for pods not counted in time, after two seconds at most', async () => {
    kube.answer(({ path }, response) => {
      if (path === '/api/v1/nodes') sendJson(response, { items: [node([['Ready', 'True']])] })
    })
    const startedAt = performance.now()
    const { nodes, problems } = await factsOf([], 1_000).report()
    expect(performance.now() - startedAt).toBeLessThan(3_800)
    expect([nodes, problems.map(({ code }) => code)]).toEqual([[], ['kubernetes_unreachable']])
  })

  test.each([
    [{ cpu: '3920m' }, { cpu: '4' }, ['3920m', '4']],
    [undefined, undefined, ['0', '0']],
  ])('return processors %j and %j unchanged, as strings', async (allocatable, capacity, told) => {
    const { status, ...rest } = node([['Ready', 'True']])
    answerWith({ ...rest, status: { ...status, allocatable, capacity } } as Node)
    const [shown] = (await factsOf([]).report()).nodes
    expect([shown?.cpu_allocatable, shown?.cpu_capacity]).toEqual(told)
    nodeSchema.parse(shown)
  })

  test('are empty for a server that hangs, with the one problem, after two seconds at most', async () => {
    kube.answer(() => undefined)
    const facts = factsOf([pod('a', { phase: 'Running' })], 1_000)
    const startedAt = performance.now()
    const { nodes, problems } = await facts.report()
    expect(performance.now() - startedAt).toBeLessThan(3_800)
    expect(nodes).toEqual([])
    expect(problems.map(({ code }) => code)).toEqual(['kubernetes_unreachable'])
    await facts.report()
    expect(kube.requests).toHaveLength(1)
  })

  test('count no pods that are not followed', async () => {
    fault = { since: NOW, error: new ServiceError('runtime_unavailable', 'It does not follow.') }
    const { nodes, problems } = await factsOf([pod('a', { waiting: 'ErrImagePull' })]).report()
    expect(nodes).toEqual([])
    expect(problems.map(({ code }) => code)).toEqual(['kubernetes_unreadable'])
  })

  test('tell what keeps warm pods that it made for its fleet from running, wherever they are', async () => {
    const shared = { all: () => [pod('a', { waiting: 'ErrImagePull' })], onChange: () => () => undefined }
    const none = { all: () => [], fault: () => null, onChange: () => () => undefined }
    const facts = createKubeClusterFacts({ api: kube.api, pods: none, shared, node: 'n1', now: () => NOW })
    expect((await facts.report()).problems.map(({ code }) => code)).toEqual(['kubernetes_image'])
  })

  test('show why a deleted pod failed, until a later one runs', async () => {
    const facts = factsOf([])
    const codes = async () => (await facts.report()).problems.map(({ code }) => code)
    change(pod('a', { waiting: 'ErrImagePull' }))
    expect(await codes()).toEqual(['kubernetes_image'])
    change(pod('b', { phase: 'Running', age: 60 }))
    expect(await codes()).toEqual(['kubernetes_image'])
    change(pod('c', { phase: 'Running', age: 0 }))
    expect(await codes()).toEqual([])
  })

  test('name the verb that is missing', async () => {
    kube.answer((_request, response) => sendStatus(response, 403, 'Forbidden'))
    const { problems } = await factsOf([]).report()
    expect(problems).toMatchObject([
      { code: 'kubernetes_forbidden', evidence: 'The agent is not allowed to list nodes.' },
    ])
  })
})
