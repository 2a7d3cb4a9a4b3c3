import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { busyboxPod } from '../helpers/pods/busybox-pod.ts'
import { kubectl, kubectlWith, succeed } from '../helpers/pods/kubectl.ts'
import { startWeather, type Weather } from '../helpers/pods/weather.ts'

// Tests attacks on boxes by another tenant's pod in the same cluster, which can send any packet on its link.

let weather: Weather

beforeAll(async () => {
  weather = await startWeather()
  succeed(kubectlWith(hostilePod(), 'create', '-f', '-'))
  succeed(kubectl('wait', `pod/${HOSTILE}`, '--for=condition=Ready', '--timeout=100s'))
})

afterAll(async () => {
  kubectl('delete', 'pod', HOSTILE, '--force', '--grace-period=0')
  await weather?.close()
})

test('a pod of others does not reach a box, neither as itself nor under the address of another box', async () => {
  await weather.createBox('one')
  await weather.createBox('two')
  const one = await weather.run('one', 'hostname -i')
  const two = (await weather.run('two', 'hostname -i')).trim()
  const before = await requestsTo('two')
  expect(inHostile(`ping -c 3 -W 1 ${two}`)).toContain('3 packets transmitted, 0 packets received')
  inHostile(`ip address add ${one.trim()}/32 dev eth0`)
  expect(inHostile(`ping -c 3 -W 1 -I ${one.trim()} ${two}`)).toContain('3 packets transmitted, 0 packets received')
  // The reply to a forged request goes to the other box, so this counts requests that arrive.
  expect(await requestsTo('two')).toBe(before)
  execFileSync('busybox', ['ping', '-c', '1', '-W', '5', two])
  expect(await requestsTo('two')).toBe(before + 1)
})

/** Returns how many echo requests a box has received. */
async function requestsTo(box: string): Promise<number> {
  const [names = [], values = []] = (await weather.run(box, 'grep ^Icmp: /proc/net/snmp'))
    .split('\n')
    .map((line) => line.split(' '))
  return Number(values[names.indexOf('InEchos')])
}

function hostilePod(): string {
  const pod = JSON.parse(busyboxPod(HOSTILE))
  pod.spec.containers[0].securityContext = { capabilities: { add: ['NET_ADMIN', 'NET_RAW'] } }
  return JSON.stringify(pod)
}

/** Runs a command line in the pod and returns its stdout, whatever its exit code. */
function inHostile(line: string): string {
  return succeed(kubectl('exec', HOSTILE, '--', 'sh', '-c', `${line} || true`)).stdout
}

const HOSTILE = 'hostile-neighbour'
