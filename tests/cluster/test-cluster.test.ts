import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { busyboxPod } from '../helpers/pods/busybox-pod.ts'
import { kubectl, kubectlWith, succeed } from '../helpers/pods/kubectl.ts'

describe('the cluster of the tests', () => {
  const name = `busybox-${randomBytes(4).toString('hex')}`

  beforeAll(() => {
    succeed(kubectlWith(busyboxPod(name), 'create', '-f', '-'))
    succeed(kubectl('wait', `pod/${name}`, '--for=condition=Ready', '--timeout=100s'))
  })

  afterAll(() => {
    succeed(kubectl('delete', 'pod', name, '--ignore-not-found', '--wait'))
  })

  const inPod = (...command: string[]): string => succeed(kubectl('exec', name, '--', ...command)).stdout
  const field = (path: string): string => succeed(kubectl('get', 'pod', name, '-o', `jsonpath={${path}}`)).stdout

  test('a pod has users of its own', () => {
    const [inside, outside, count] = inPod('cat', '/proc/self/uid_map').trim().split(/\s+/).map(Number)
    expect({ inside, count }).toEqual({ inside: 0, count: 65_536 })
    expect(outside).toBeGreaterThanOrEqual(65_536)
  })

  test('a pod reaches its node', () => {
    expect(inPod('ping', '-c', '1', '-W', '5', field('.status.hostIP'))).toContain('1 packets received')
  })

  test('the limits of a running pod change in place', () => {
    const limits = { cpu: '300m', memory: '96Mi' }
    const change = { spec: { containers: [{ name: 'main', resources: { limits } }] } }
    succeed(kubectl('patch', 'pod', name, '--subresource=resize', '--patch', JSON.stringify(change)))
    const memory = '.status.containerStatuses[0].resources.limits.memory'
    succeed(kubectl('wait', `pod/${name}`, `--for=jsonpath={${memory}}=96Mi`, '--timeout=100s'))
    expect(field('.status.containerStatuses[0].restartCount')).toBe('0')
  })
})
