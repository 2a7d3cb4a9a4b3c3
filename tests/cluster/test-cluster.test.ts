import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { createClient } from '../helpers/front/client.ts'
import { busyboxPod } from '../helpers/pods/busybox-pod.ts'
import { kubectl, kubectlWith, succeed } from '../helpers/pods/kubectl.ts'
import { startService, type TestService } from '../helpers/service.ts'

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

describe('what `npm run cluster:up` prints', () => {
  const kubeconfig = process.env['KUBECONFIG'] ?? ''
  const runtime = process.env['TEST_RUNTIME']
  let service: TestService | null = null

  afterEach(async () => {
    process.env['TEST_RUNTIME'] = runtime
    await service?.close()
  })

  test('is all that a service needs to have its boxes there', async () => {
    const up = [join(ROOT, 'infra/cluster-up.ts'), basename(dirname(kubeconfig))]
    const printed = execFileSync(process.execPath, up, { encoding: 'utf8' }).trim().split('\n')
    expect(printed.at(-1)).toBe(`KUBECONFIG=${kubeconfig}`)
    const settings = Object.fromEntries(printed.slice(0, -1).map((line) => line.split('=', 2)))
    // Without this variable, the helper adds no pod settings.
    delete process.env['TEST_RUNTIME']
    service = await startService({ settings })
    const client = createClient(
      () => service?.url ?? '',
      () => service?.adminToken ?? '',
    )
    expect((await client.post('/v1/projects/printed/boxes', { name: 'web' })).body.status).toBe('running')
    const pods = kubectl('-n', 'boxyard', 'get', 'pods', '-l', 'boxyard.dev/project=printed', '-o', 'name')
    expect(succeed(pods).stdout).toMatch(/^pod\/\S+\n$/)
    expect((await client.delete('/v1/projects/printed/boxes/web')).status).toBe(204)
  })
})
