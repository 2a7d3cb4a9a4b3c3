import { describe, expect, test } from '@jest/globals'
import type { ContainerState, Pod } from 'kubernetes-types/core/v1.d.ts'
import { parseAddress } from '../../../agent/drivers/pods/roots.ts'
import { describePending, isTakenAway, podFailureOf } from '../../../agent/drivers/pods/state.ts'

const DELETED: Pod = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }

describe('a pod', () => {
  test.each<[string, Pod | null, boolean]>([
    ['that is gone', null, true],
    ['that is being deleted', DELETED, true],
    ['that the kubelet evicted', { status: { phase: 'Failed', reason: 'Evicted' } }, true],
    ['of a node that shut down', { status: { phase: 'Failed', reason: 'Terminated' } }, true],
    ['whose container ended', { status: { phase: 'Failed' } }, false],
    ['that succeeded', { status: { phase: 'Succeeded', reason: 'Completed' } }, false],
    ['that runs', { status: { phase: 'Running' } }, false],
    ['that is new', {}, false],
  ])('%s: was removed: %j', (_, pod, expected) => {
    expect(isTakenAway(pod)).toBe(expected)
  })

  test.each<[string, Pod | null, string | RegExp | null]>([
    ['that is gone', null, 'Its pod was deleted.'],
    ['that is being deleted', DELETED, 'Its pod was deleted.'],
    ['that is new', {}, null],
    ['that runs', { status: { phase: 'Running' } }, null],
    ['whose container is being made', waiting('ContainerCreating'), null],
    [
      'whose image is missing',
      waiting('ErrImagePull', 'no such\n\thost'),
      'The node cannot create its container (ErrImagePull): no such host',
    ],
    ['without a reason', waiting('CreateContainerError'), /\(CreateContainerError\): no reason is given$/],
    [
      'whose container could not be started',
      {
        status: {
          phase: 'Running',
          containerStatuses: [status({ terminated: { exitCode: 128, reason: 'RunContainerError' } })],
        },
      },
      /\(RunContainerError\)/,
    ],
    [
      'that ended',
      { status: { phase: 'Failed', message: 'node was low on memory' } },
      'Its pod exited before it ran: node was low on memory',
    ],
    [
      'whose container ended',
      { status: { phase: 'Failed', containerStatuses: [status({ terminated: { exitCode: 1, reason: 'Error' } })] } },
      'Its pod exited before it ran: Error',
    ],
    ['that succeeded', { status: { phase: 'Succeeded' } }, 'Its pod exited before it ran: no reason is given'],
  ])('%s: why it becomes no box', (_, pod, expected) => {
    const why = podFailureOf(pod)
    if (expected instanceof RegExp) expect(why).toMatch(expected)
    else expect(why).toBe(expected)
  })

  test('whose reason is very long is reported in short', () => {
    expect(podFailureOf(waiting('ErrImagePull', 'x'.repeat(10_000)))?.length).toBeLessThan(400)
    expect(describePending(unplaced('y'.repeat(10_000))).length).toBeLessThan(400)
  })

  test.each<[string, Pod | null, string]>([
    ['that was never seen', null, 'The node has not started its pod.'],
    [
      'that cannot be placed',
      unplaced('0/1 nodes are available'),
      'The cluster cannot place it: 0/1 nodes are available',
    ],
    ['that cannot be placed, unexplained', unplaced(undefined), 'The cluster cannot place it: no reason is given'],
    [
      'whose container is being made',
      waiting('ContainerCreating'),
      'The node has not started its pod (ContainerCreating).',
    ],
    [
      'that is placed',
      { status: { conditions: [{ type: 'PodScheduled', status: 'True' }] } },
      'The node has not started its pod.',
    ],
  ])('%s: what it waits for', (_, pod, expected) => {
    expect(describePending(pod)).toBe(expected)
  })
})

describe('the address of a pod in the routing table of the kernel', () => {
  test.each<[string, string, string | null]>([
    ['of a pod', table('10.244.0.0/24', '10.244.0.7', '127.0.0.1'), '10.244.0.7'],
    ['told after that of loopback', table('127.0.0.1', '10.244.0.7'), '10.244.0.7'],
    ['of a pod without a network', table('127.0.0.1'), null],
    ['of a network that is not up', '', null],
    ['of networks alone', 'Main:\n  +-- 10.0.0.0/8 2 0 2\n     |-- 10.0.0.0\n        /8 link UNICAST\n', null],
    ['whose broadcast comes first', `${leaf('10.244.0.255', 'link BROADCAST')}${table('10.244.0.7')}`, '10.244.0.7'],
  ])('%s', (_, text, expected) => {
    expect(parseAddress(text)).toBe(expected)
  })
})

function status(state: ContainerState) {
  return { name: 'box', image: '', imageID: '', ready: false, restartCount: 0, state }
}

function waiting(reason: string, message?: string): Pod {
  const state = { waiting: { reason, ...(message === undefined ? {} : { message }) } }
  return { status: { phase: 'Pending', containerStatuses: [status(state)] } }
}

function unplaced(message: string | undefined): Pod {
  const condition = { type: 'PodScheduled', status: 'False', ...(message === undefined ? {} : { message }) }
  return { status: { phase: 'Pending', conditions: [condition] } }
}

/** Returns addresses in the format of `/proc/<pid>/net/fib_trie`. */
function table(...addresses: string[]): string {
  const local = addresses.filter((address) => !address.includes('/')).map((address) => leaf(address, 'host LOCAL'))
  return `Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\nLocal:\n${local.join('')}`
}

function leaf(address: string, kind: string): string {
  return `     |-- ${address}\n        /32 ${kind}\n`
}
