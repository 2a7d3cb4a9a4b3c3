import { BlockList } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import { foreignMounts, linksOf } from '../../../infra/cluster/node-space.ts'
import {
  apiServerAddress,
  clusterBridge,
  clusterNodes,
  MAX_NODES,
  nodeCgroup,
  nodePaths,
} from '../../../infra/cluster/nodes.ts'
import { clusterParts, partCommand } from '../../../infra/cluster/part-table.ts'
import type { ClusterRecord } from '../../../infra/cluster/record.ts'

const recordOf = (nodeCount: number, change: Partial<ClusterRecord> = {}): ClusterRecord => ({
  name: 'default',
  programs: '/programs',
  node: { name: 'host', address: '192.0.2.7', mtu: 1400 },
  nodeCount,
  subnet: '10.182.164.0/22',
  ports: { apiServer: 20_001, kubelet: 20_002, etcd: 20_003, etcdPeer: 20_004 },
  ...change,
})

describe('one node', () => {
  const record = recordOf(1)

  test('is this host, with the whole subnet, and no bridge', () => {
    const [node] = clusterNodes(record)
    expect(node).toMatchObject({ name: 'host', address: '192.0.2.7', podSubnet: '10.182.164.0/22' })
    expect(clusterBridge(record)).toBe(null)
    expect(linksOf(record)).toEqual([])
    expect(apiServerAddress(record)).toBe('127.0.0.1')
  })

  test('has its files, cgroup and parts where those of the cluster are', () => {
    const [node] = clusterNodes(record)
    if (node === undefined) throw new Error('There is no node.')
    expect(nodePaths('default', node)).toMatchObject({
      state: '/var/lib/boxyard-cluster/default',
      run: '/run/boxyard-cluster/default',
      agentKubeconfig: '/var/lib/boxyard-cluster/default/agent.kubeconfig',
    })
    expect(nodeCgroup('default', node)).toBe('boxyard-cluster-default')
    expect(clusterParts(record).toSorted()).toEqual(
      ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'containerd', 'kubelet'].toSorted(),
    )
    expect(() => partCommand(record, 'kubelet-1')).toThrow('The cluster default has no part kubelet-1.')
  })
})

describe('several nodes', () => {
  const record = recordOf(MAX_NODES)
  const nodes = clusterNodes(record)

  test('have names, addresses, files and cgroups of their own', () => {
    expect(nodes.map(({ name }) => name)).toEqual(['host-1', 'host-2', 'host-3', 'host-4', 'host-5'])
    const own = nodes.flatMap((node) => [
      node.address,
      node.podSubnet,
      nodeCgroup('default', node),
      ...Object.values(nodePaths('default', node)),
    ])
    expect(new Set(own).size).toBe(own.length)
    expect(nodes.map((node) => nodeCgroup('default', node))).toContain('boxyard-cluster-default/node-3')
  })

  test('share the subnet of the cluster: the bridge and the pods of each node have a part of it alone', () => {
    const bridge = clusterBridge(record)
    const subnets = [
      `${bridge?.address.replace(/1$/, '0')}/${bridge?.bits}`,
      ...nodes.map(({ podSubnet }) => podSubnet),
    ]
    expect(subnets).toEqual([
      ...['10.182.164.0/25', '10.182.164.128/25', '10.182.165.0/25'],
      ...['10.182.165.128/25', '10.182.166.0/25', '10.182.166.128/25'],
    ])
    const onBridge = new BlockList()
    onBridge.addSubnet('10.182.164.0', 25)
    for (const address of [apiServerAddress(record), ...nodes.map((node) => node.address)])
      expect(onBridge.check(address)).toBe(true)
  })

  test('have links whose names tell the subnet, so that no two clusters have one', () => {
    expect(linksOf(recordOf(2))).toEqual(['byc-b6a4', 'byc-b6a4-1', 'byc-b6a4-2'])
    expect(linksOf(recordOf(2, { subnet: '10.182.168.0/22' }))).toEqual(['byc-b6a8', 'byc-b6a8-1', 'byc-b6a8-2'])
  })

  test('have parts that run on their node, and a holder of its namespaces each', () => {
    expect(clusterParts(recordOf(2)).filter((part) => /-\d$/.test(part))).toEqual([
      ...['node-1', 'containerd-1', 'kubelet-1', 'node-2', 'containerd-2', 'kubelet-2'],
    ])
    expect(partCommand(record, 'kubelet-2')).toContain('--hostname-override=host-2')
    expect(partCommand(record, 'node-2').at(-1)).toBe('host-2')
    expect(() => partCommand(record, 'kubelet-6')).toThrow('no part kubelet-6')
  })

  test('have names that a host can have, and sockets that fit into an address', () => {
    const [node] = clusterNodes(recordOf(2, { node: { ...record.node, name: 'h'.repeat(63) } }))
    if (node === undefined) throw new Error('There is no node.')
    expect(node.name).toBe(`${'h'.repeat(61)}-1`)
    // A shim's socket is named after a SHA-256 digest.
    expect(`${nodePaths('c'.repeat(16), node).run}/s/${'0'.repeat(64)}`.length).toBeLessThan(108)
  })
})

test("a node keeps the host's disks, and lets go of what other programs have mounted", () => {
  const lines = [
    '20 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
    '21 20 0:20 / /proc rw - proc proc rw',
    '22 20 254:1 / /var rw - ext4 /dev/vdb rw',
    '23 20 0:30 / /run/lock rw - tmpfs tmpfs rw',
    '24 22 7:1 / /var/lib/boxyard/pool rw shared:9 - btrfs /dev/loop1 rw',
    '25 22 0:31 / /var/lib/docker/overlay2/a/merged rw - overlay overlay rw,lowerdir=/a',
    '26 23 0:4 net:[4026532181] /run/netns/a rw - nsfs nsfs rw',
    '27 20 0:40 / /mnt/a\\040b rw - fuse.sshfs host: rw',
    '',
  ]
  expect(foreignMounts(lines.join('\n'))).toEqual([
    ...['/var/lib/boxyard/pool', '/var/lib/docker/overlay2/a/merged', '/run/netns/a', '/mnt/a b'],
  ])
  expect(foreignMounts('20 1 0:31 / / rw - overlay overlay rw')).toEqual([])
})
