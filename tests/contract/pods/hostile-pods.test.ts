import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { enableForwarding } from '../../../agent/drivers/network/host.ts'
import { createPodNetwork } from '../../../agent/drivers/pods/network.ts'
import { podTableName } from '../../../agent/drivers/pods/rules.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { eventually } from '../../helpers/eventually.ts'
import { ANSWER_MS, ask, BOX_PORT, type LabServer, serveAt, tcp, udp } from '../../helpers/network/lab.ts'
import { openPodLab, type Pod, type PodLab, podMember, podSettings, withPodNetwork } from '../../helpers/pods/lab.ts'

// Tests with another user's pod on the same node. Runtimes give pods CAP_NET_RAW, so the pod can send any frame on its link.

describe.each(['routed', 'bridged'] as const)('beside a hostile pod, boxes in pods that are %s', (links) => {
  let lab: PodLab
  let one: Pod
  let two: Pod
  let hostile: Pod
  const servers: LabServer[] = []

  beforeAll(async () => {
    enableForwarding()
    lab = await openPodLab(links)
    ;[one, two, hostile] = [await lab.pod(), await lab.pod(), await lab.pod()]
    for (const pod of [one, two]) servers.push(await serveAt(pod, BOX_PORT, pod.address))
  })

  afterAll(() => {
    for (const server of servers) server.close()
    lab.close()
  })

  test.each(['udp', 'tcp'] as const)('get nothing by %s that it sends under the address of a box', async (protocol) => {
    await withPodNetwork(podSettings(), async (network) => {
      network.admit(podMember('red', 'one', one))
      network.admit(podMember('red', 'two', two))
      const before = servers[1]?.lines.length
      await inside(hostile, `address add ${one.address}/32 dev eth0`)
      try {
        const question = { protocol, host: two.address, port: BOX_PORT, source: one.address } as const
        expect(await ask(hostile, question)).toBe('blocked')
      } finally {
        await inside(hostile, `address delete ${one.address}/32 dev eth0`)
      }
      expect(servers[1]?.lines).toHaveLength(before ?? -1)
      expect(await tcp(one, two.address, BOX_PORT)).toBe(two.address)
      expect(await udp(two, one.address, BOX_PORT, ANSWER_MS)).toBe(one.address)
    })
  })

  test('keep their hardware addresses and the gateway when it claims them', async () => {
    await withPodNetwork(podSettings(), async (network) => {
      network.admit(podMember('red', 'one', one))
      network.admit(podMember('red', 'two', two))
      expect(await tcp(null, one.address, BOX_PORT)).toBe(one.address)
      const before = await macOf(two, lab.gateway)
      const frames = new URL('../../fixtures/hostile-frames.py', import.meta.url).pathname
      await inNetworkOf(hostile, ['python3', frames, lab.gateway, await ownMac(one)])
      expect(await tcp(null, one.address, BOX_PORT)).toBe(one.address)
      expect(await inside(two, `neigh show ${lab.gateway}`)).toContain(` lladdr ${before} `)
    })
  })
})

describe('the guard of bridges', () => {
  let lab: PodLab

  beforeAll(async () => {
    enableForwarding()
    lab = await openPodLab('bridged')
  })

  afterAll(() => lab.close())

  test('is loaded again where it was removed, and goes with the network', async () => {
    const settings = podSettings()
    const table = podTableName(settings.instanceId)
    const pod = await lab.pod()
    await withPodNetwork(settings, async (network) => {
      expect(await bridgeTables()).not.toContain(table)
      network.admit(podMember('red', 'pod', pod))
      expect(await guardOf(table)).toContain(pod.address)
      await runOk('nft', ['delete', 'table', 'bridge', table])
      await eventually(async () => (await bridgeTables()).includes(table))
      expect(await guardOf(table)).toContain(pod.address)
      network.leave('box_red_pod')
      expect(await guardOf(table)).not.toContain(pod.address)
    })
    expect(await bridgeTables()).not.toContain(table)
  })

  test('forgets the boxes that ended while no agent ran, and keeps the others throughout', async () => {
    const settings = podSettings()
    const table = podTableName(settings.instanceId)
    const [stays, ends] = [await lab.pod(), await lab.pod()]
    const earlier = createPodNetwork(settings)
    await earlier.open()
    earlier.admit(podMember('red', 'stays', stays))
    earlier.admit(podMember('red', 'ends', ends))
    await earlier.close({ release: false })
    await withPodNetwork(settings, async (network) => {
      expect(await guardOf(table)).toContain(stays.address)
      network.admit(podMember('red', 'stays', stays))
      network.retain(['box_red_stays'])
      expect(await guardOf(table)).toContain(stays.address)
      expect(await guardOf(table)).not.toContain(ends.address)
    })
  })
})

async function bridgeTables(): Promise<string> {
  return (await runOk('nft', ['list', 'tables', 'bridge'])).stdout
}

async function guardOf(table: string): Promise<string> {
  return (await runOk('nft', ['list', 'table', 'bridge', table])).stdout
}

/** Returns the hardware address that a pod resolves for another address. */
async function macOf(pod: Pod, address: string): Promise<string> {
  await udp(pod, address, BOX_PORT)
  return (await inside(pod, `neigh show ${address}`)).split(' lladdr ')[1]?.split(' ')[0] ?? ''
}

async function ownMac(pod: Pod): Promise<string> {
  return /link\/ether (\S+)/.exec(await inside(pod, 'link show eth0'))?.[1] ?? ''
}

function inside(pod: Pod, line: string): Promise<string> {
  return inNetworkOf(pod, ['ip', ...line.split(' ')])
}

async function inNetworkOf({ networkNamespace }: Pod, command: readonly string[]): Promise<string> {
  return (await runOk('nsenter', [`--net=${networkNamespace}`, ...command])).stdout
}
