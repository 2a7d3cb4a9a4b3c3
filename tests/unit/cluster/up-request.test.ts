import { expect, test } from '@jest/globals'
import { describeUse, readUpRequest } from '../../../infra/cluster/up-request.ts'

test.each([
  [[], { name: 'default', nodeCount: undefined }],
  [['mine'], { name: 'mine', nodeCount: undefined }],
  [['--nodes', '3'], { name: 'default', nodeCount: 3 }],
  [['--nodes=1', 'mine'], { name: 'mine', nodeCount: 1 }],
])('%j asks for %j', (args, request) => {
  expect(readUpRequest(args)).toEqual(request)
})

test.each([
  [['--nodes', '0'], '--nodes: must be 1 to 5, not 0'],
  [['--nodes', '6'], '--nodes: must be 1 to 5, not 6'],
  [['--nodes', '1.5'], '--nodes: must be 1 to 5, not 1.5'],
  [['--nodes='], '--nodes: must be 1 to 5, not '],
  [['a', 'b'], 'Give one name for the cluster, not several: a b'],
  [['--node', '3'], '--node'],
])('%j is refused', (args, message) => {
  expect(() => readUpRequest(args)).toThrow(message)
})

test('one node is told by its settings alone', () => {
  const node = { name: 'host', settings: { BOXYARD_RUNTIME: 'kubernetes', BOXYARD_NODE: 'host' }, enter: null }
  expect(describeUse({ adminKubeconfig: '/state/admin.kubeconfig', nodes: [node] })).toEqual([
    'BOXYARD_RUNTIME=kubernetes',
    'BOXYARD_NODE=host',
    'KUBECONFIG=/state/admin.kubeconfig',
  ])
})

test('several nodes have a block of settings each, headed by a comment', () => {
  const nodes = ['host-1', 'host-2'].map((name, i) => ({
    name,
    settings: { BOXYARD_NODE: name },
    enter: `/state/enter-${i + 1}`,
  }))
  expect(describeUse({ adminKubeconfig: '/state/admin.kubeconfig', nodes })).toEqual([
    '# host-1 (/state/enter-1 COMMAND…)',
    'BOXYARD_NODE=host-1',
    '# host-2 (/state/enter-2 COMMAND…)',
    'BOXYARD_NODE=host-2',
    'KUBECONFIG=/state/admin.kubeconfig',
  ])
})
