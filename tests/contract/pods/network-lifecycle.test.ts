import { readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { enableForwarding } from '../../../agent/drivers/network/host.ts'
import { createPodNetwork } from '../../../agent/drivers/pods/network.ts'
import { podTableName } from '../../../agent/drivers/pods/rules.ts'
import { run, runOk } from '../../../agent/lib/run.ts'
import { eventually } from '../../helpers/eventually.ts'
import {
  ANSWER_MS,
  BOX_PORT,
  type LabServer,
  type Outside,
  openOutside,
  serveAt,
  tcp,
  udp,
} from '../../helpers/network/lab.ts'
import { openPodLab, type Pod, type PodLab, podMember, podSettings, withPodNetwork } from '../../helpers/pods/lab.ts'

let outside: Outside
let lab: PodLab
const listeners: LabServer[] = []

beforeAll(async () => {
  enableForwarding()
  outside = await openOutside()
  lab = await openPodLab('routed')
  listeners.push(await serveAt(outside, 80, 'outside'), await serveAt(outside, LATE_PORT, 'late', LATE_MS))
})

afterAll(() => {
  for (const listener of listeners) listener.close()
  lab.close()
  outside.close()
})

describe('a box in a pod', () => {
  test('is neither reached nor resolved once it left, and is again at a new address', async () => {
    await withPodNetwork(podSettings(), async (network) => {
      const [box, friend, elsewhere] = [await lab.pod(), await lab.pod(), await lab.pod()]
      const servers = [await serveAt(friend, BOX_PORT, 'friend'), await serveAt(elsewhere, BOX_PORT, 'elsewhere')]
      const { hostsFile } = network.admit(podMember('red', 'box', box))
      const inode = statSync(hostsFile).ino
      network.admit(podMember('red', 'friend', friend))
      network.admit(podMember('red', 'friend', elsewhere))
      expect(await tcp(box, friend.address, BOX_PORT)).toBe('blocked')
      expect(await tcp(box, elsewhere.address, BOX_PORT)).toBe('elsewhere')
      expect(readFileSync(hostsFile, 'utf8')).toMatch(new RegExp(`${elsewhere.address} friend\n$`))
      network.leave('box_red_friend')
      network.leave('box_red_friend')
      expect(await tcp(box, elsewhere.address, BOX_PORT)).toBe('blocked')
      expect(readFileSync(hostsFile, 'utf8')).not.toContain('friend')
      expect(statSync(hostsFile).ino).toBe(inode)
      for (const server of servers) server.close()
    })
  })

  test('gets no answers meant for the box that had its address', async () => {
    await withPodNetwork(podSettings(), async (network) => {
      const pod = await lab.pod()
      network.admit(podMember('red', 'old', pod))
      await sendFrom(pod, outside.address, LATE_PORT)
      network.admit(podMember('blue', 'new', pod))
      const server = await serveAt(pod, BOX_PORT, 'new')
      expect(await udp(pod, outside.address, LATE_PORT, ANSWER_MS)).toBe('late')
      await sleep(LATE_MS)
      expect(server.lines).toEqual(['ready'])
      server.close()
    })
  })

  test("cannot fill the node's memory of connections", async () => {
    await withPodNetwork(podSettings(), async (network) => {
      const [box, friend] = [await lab.pod(), await lab.pod()]
      network.admit(podMember('red', 'box', box))
      network.admit(podMember('red', 'friend', friend))
      await flood(box, outside.address, 6_000)
      expect(await udp(box, outside.address, 80)).toBe('blocked')
      expect(await udp(friend, outside.address, 80, ANSWER_MS)).toBe('outside')
    })
  })

  test.each([
    ['whose ports no rule separates', 0, /^runtime_unavailable .*pb0.*br_netfilter/],
    ['that has no port for it', 1, /^runtime_unavailable .*cannot distinguish pods on \S*pb0/],
  ])('is refused on a bridge %s', async (_, filters, problem) => {
    const outcome = await admissionAfter([
      'ip link add pb0 type bridge',
      'ip address add 10.221.0.1/24 dev pb0',
      'ip link set pb0 up',
      `echo ${filters} >/proc/sys/net/bridge/bridge-nf-call-iptables`,
    ])
    expect(outcome).toMatch(problem)
  })
})

describe('after an agent that exited without cleaning up', () => {
  test('running boxes keep their network, and those that ended lose it', async () => {
    const settings = podSettings()
    const [one, two, gone] = [await lab.pod(), await lab.pod(), await lab.pod()]
    const servers = [await serveAt(two, BOX_PORT, 'two'), await serveAt(gone, BOX_PORT, 'gone')]
    const first = createPodNetwork(settings)
    await first.open()
    const { hostsFile } = first.admit(podMember('red', 'one', one))
    first.admit(podMember('red', 'two', two))
    first.admit(podMember('red', 'gone', gone))
    await first.close({ release: false })
    expect(await tcp(one, two.address, BOX_PORT)).toBe('two')
    await withPodNetwork(settings, async (network) => {
      expect(await tcp(one, two.address, BOX_PORT)).toBe('two')
      expect(readFileSync(hostsFile, 'utf8')).toContain(`${two.address} two\n`)
      // A new pod must not count as a member of a project whose boxes are not adopted yet.
      const newcomer = await lab.pod()
      network.admit(podMember('blue', 'newcomer', newcomer))
      expect(await tcp(newcomer, two.address, BOX_PORT)).toBe('blocked')
      for (const member of [podMember('red', 'one', one), podMember('red', 'two', two)]) network.admit(member)
      network.retain(['box_red_one', 'box_red_two', 'box_blue_newcomer'])
      expect(await tcp(one, two.address, BOX_PORT)).toBe('two')
      expect(await tcp(one, gone.address, BOX_PORT)).toBe('blocked')
      expect(readFileSync(hostsFile, 'utf8')).not.toContain('gone')
      expect(await tcp(newcomer, outside.address, 80)).toBe('outside')
    })
    for (const server of servers) server.close()
  })

  test('a box still gets answers to its earlier requests', async () => {
    const settings = podSettings()
    const pod = await lab.pod()
    const first = createPodNetwork(settings)
    await first.open()
    first.admit(podMember('red', 'box', pod))
    const later = await serveAt(outside, LATER_PORT, 'later', 'signal')
    await sendFrom(pod, outside.address, LATER_PORT)
    await eventually(() => later.lines.length > 1)
    await first.close({ release: false })
    await withPodNetwork(settings, async (network) => {
      network.admit(podMember('red', 'box', pod))
      const server = await serveAt(pod, BOX_PORT, 'box')
      process.kill(later.pid, 'SIGUSR2')
      await eventually(() => server.lines.length > 1)
      expect(server.lines).toEqual(['ready', `udp ${outside.address}`])
      for (const each of [server, later]) each.close()
    })
  })
})

describe('the node', () => {
  test('reports flushed rules, and restores them by itself with every box in its project', async () => {
    const settings = podSettings()
    await withPodNetwork(settings, async (network) => {
      const [one, two, other] = [await lab.pod(), await lab.pod(), await lab.pod()]
      network.admit(podMember('red', 'one', one))
      network.admit(podMember('red', 'two', two))
      network.admit(podMember('blue', 'other', other))
      const table = podTableName(settings.instanceId)
      await runOk('nft', ['delete', 'table', 'inet', table])
      await eventually(async () => (await run('nft', ['list', 'table', 'inet', table])).exitCode === 0)
      const server = await serveAt(two, BOX_PORT, 'two')
      expect(await tcp(one, two.address, BOX_PORT)).toBe('two')
      expect(await tcp(other, two.address, BOX_PORT)).toBe('blocked')
      server.close()
      expect(await network.problems()).toEqual([expect.objectContaining({ code: 'packet_filter_removed' })])
    })
  })

  test('keeps nothing of a network that was released', async () => {
    const settings = podSettings()
    await withPodNetwork(settings, async () => {
      expect(await tables()).toContain(podTableName(settings.instanceId))
    })
    expect(await tables()).not.toContain(podTableName(settings.instanceId))
  })
})

async function tables(): Promise<string> {
  return (await runOk('nft', ['list', 'tables'])).stdout
}

/** Sends one datagram from a pod's server port. */
function sendFrom(pod: Pod, host: string, port: number): Promise<unknown> {
  return script(pod, `s.bind(${BOX_PORT},()=>s.send('x',${port},'${host}',()=>process.exit(0)))`)
}

/** Sends one datagram to each of `count` ports. */
function flood(pod: Pod, host: string, count: number): Promise<unknown> {
  const end = 10_000 + count
  return script(pod, `let p=10000;(function go(){if(p===${end})return process.exit(0);s.send('x',p++,'${host}',go)})()`)
}

function script({ networkNamespace }: Pod, text: string): Promise<unknown> {
  const program = `const s=require('dgram').createSocket('udp4');${text}`
  return runOk('nsenter', [`--net=${networkNamespace}`, process.execPath, '-e', program])
}

/** Runs `commands` in a network namespace, admits a box there, and returns the outcome. */
async function admissionAfter(commands: readonly string[]): Promise<string> {
  const program = new URL('../../fixtures/pod-admission.ts', import.meta.url).pathname
  // /sys shows the interfaces of the network namespace in which it was mounted.
  const line = ['mount -t sysfs sysfs /sys', ...commands, `exec "${process.execPath}" "${program}" 10.221.0.7`]
  return (await runOk('unshare', ['--net', '--mount', 'sh', '-c', line.join(' && ')])).stdout
}

const LATE_PORT = 8053
const LATE_MS = 700
const LATER_PORT = 8054
