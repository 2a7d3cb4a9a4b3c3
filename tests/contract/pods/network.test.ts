import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { enableForwarding } from '../../../agent/drivers/network/host.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { eventually } from '../../helpers/eventually.ts'
import {
  ANSWER_MS,
  ask,
  BOX_PORT,
  type LabServer,
  type Outside,
  openOutside,
  serveAt,
  tcp,
  udp,
} from '../../helpers/network/lab.ts'
import { replaceResolvers, TURN_MS } from '../../helpers/network/resolvers.ts'
import { openPodLab, type Pod, type PodLab, podMember, podSettings, withPodNetwork } from '../../helpers/pods/lab.ts'

let outside: Outside
let restoreResolvers: () => void
const listeners: LabServer[] = []

beforeAll(async () => {
  enableForwarding()
  outside = await openOutside(OUTSIDE_ADDRESSES)
  restoreResolvers = await replaceResolvers(`nameserver 10.98.7.2\nnameserver ${SERVICE_ADDRESS}\n`)
  for (const port of [53, 80]) listeners.push(await serveAt(outside, port, 'outside'))
}, TURN_MS)

afterAll(() => {
  for (const listener of listeners) listener.close()
  restoreResolvers()
  outside.close()
})

describe.each(['routed', 'bridged'] as const)('pods that are %s', (links) => {
  let lab: PodLab
  let one: Pod
  let two: Pod
  let other: Pod
  let stranger: Pod
  let node: { close(): void }
  const servers: LabServer[] = []

  beforeAll(async () => {
    lab = await openPodLab(links)
    ;[one, two, other, stranger] = [await lab.pod(), await lab.pod(), await lab.pod(), await lab.pod()]
    for (const pod of [one, two, other, stranger]) servers.push(await serveAt(pod, BOX_PORT, pod.address))
    node = await serveNode(lab.gateway)
  })

  afterAll(() => {
    for (const server of [...servers, node]) server.close()
    lab.close()
  })

  test('reach each other in a project, by address and by name, and no box of another project', async () => {
    await withPodNetwork(podSettings({ allowPrivate: true }), async (network) => {
      const files = network.admit(podMember('red', 'one', one))
      expect(network.admit(podMember('red', 'two', two))).toEqual(files)
      network.admit(podMember('blue', 'other', other))
      expect(await tcp(one, two.address, BOX_PORT)).toBe(two.address)
      expect(await udp(two, one.address, BOX_PORT, ANSWER_MS)).toBe(one.address)
      for (const [from, to] of [
        [one, other],
        [other, two],
      ] as const) {
        expect(await tcp(from, to.address, BOX_PORT)).toBe('blocked')
        expect(await udp(from, to.address, BOX_PORT)).toBe('blocked')
      }
      const names = readFileSync(files.hostsFile, 'utf8')
      expect(names).toContain(`${one.address} one\n${two.address} two\n`)
      expect(names).not.toContain('other')
    })
  })

  test('reach nothing of the node, and only resolvers in private ranges', async () => {
    await withPodNetwork(podSettings(), async (network) => {
      network.admit(podMember('red', 'one', one))
      expect(hostAddresses()).toEqual(expect.arrayContaining([lab.gateway, outside.hostAddress]))
      const own = hostAddresses().map((address) => tcp(one, address, HOST_PORT))
      expect(new Set(await Promise.all(own))).toEqual(new Set(['blocked']))
      for (const [from, answer] of [
        [one, 'blocked'],
        [null, 'outside'],
      ] as const) {
        const answers = await Promise.all(OUTSIDE_ADDRESSES.map((address) => tcp(from, address, 80)))
        expect(answers).toEqual(OUTSIDE_ADDRESSES.map(() => answer))
      }
      expect(await udp(one, lab.gateway, HOST_PORT)).toBe('blocked')
      expect(await tcp(one, stranger.address, BOX_PORT)).toBe('blocked')
      expect(await tcp(one, outside.address, 80)).toBe('outside')
      expect(await udp(one, '10.98.7.2', 53, ANSWER_MS)).toBe('outside')
    })
  })

  test('are reached by the node, and neither by other pods nor from outside', async () => {
    await withPodNetwork(podSettings({ allowPrivate: true }), async (network) => {
      expect(await tcp(stranger, one.address, BOX_PORT)).toBe(one.address)
      network.admit(podMember('red', 'one', one))
      expect(await tcp(null, one.address, BOX_PORT)).toBe(one.address)
      expect(await tcp(one, stranger.address, BOX_PORT)).toBe(stranger.address)
      for (const from of [stranger, outside]) {
        expect(await tcp(from, one.address, BOX_PORT)).toBe('blocked')
        expect(await udp(from, one.address, BOX_PORT)).toBe('blocked')
      }
      expect(await tcp(stranger, two.address, BOX_PORT)).toBe(two.address)
      expect(await tcp(stranger, lab.gateway, HOST_PORT)).toBe('node')
      expect(await udp(stranger, lab.gateway, HOST_PORT, ANSWER_MS)).toBe('node')
    })
  })

  test('do not receive broadcasts of a box of another project', async () => {
    await withPodNetwork(podSettings({ allowPrivate: true }), async (network) => {
      const toAll = links === 'bridged' ? 'a word to all' : ''
      await eventually(async () => (await hear(other, one)) === toAll)
      network.admit(podMember('red', 'one', one))
      network.admit(podMember('blue', 'other', other))
      expect(await hear(other, one)).toBe('')
    })
  })

  test('have no IPv6 but on loopback once they are boxes', async () => {
    await withPodNetwork(podSettings(), async (network) => {
      const pod = await lab.pod()
      await eventually(async () => /eth0.* fe80:/.test(await inet6Of(pod)))
      network.admit(podMember('red', 'pod', pod))
      expect(await inet6Of(pod)).toMatch(/^lo\s+UNKNOWN\s+::1\/128\s*$/)
    })
  })

  test('do not get spoofed traffic under the address of a box of their project', async () => {
    await withPodNetwork(podSettings(), async (network) => {
      network.admit(podMember('red', 'one', one))
      network.admit(podMember('red', 'two', two))
      const before = servers[1]?.lines.length
      const address = (verb: string): Promise<unknown> =>
        runOk('nsenter', [
          `--net=${outside.networkNamespace}`,
          'ip',
          'address',
          verb,
          `${one.address}/32`,
          'dev',
          'eth0',
        ])
      await address('add')
      const question = { protocol: 'udp', host: two.address, port: BOX_PORT, source: one.address } as const
      try {
        expect(await ask(outside, question)).toBe('blocked')
      } finally {
        await address('delete')
      }
      expect(servers[1]?.lines).toHaveLength(before ?? -1)
    })
  })
})

describe('a box in a pod', () => {
  let lab: PodLab

  beforeAll(async () => {
    lab = await openPodLab('routed')
  })

  afterAll(() => lab.close())

  test('asks a resolver that is a service of the cluster, and no other private one', async () => {
    const box = await lab.pod()
    await withTable(
      `chain prerouting { type nat hook prerouting priority dstnat; ip saddr ${box.address} ip daddr ${SERVICE_ADDRESS} dnat ip to 10.98.7.2; }`,
      () =>
        withPodNetwork(podSettings(), async (network) => {
          network.admit(podMember('red', 'box', box))
          expect(await udp(box, SERVICE_ADDRESS, 53, ANSWER_MS)).toBe('outside')
          expect(await tcp(box, SERVICE_ADDRESS, 53)).toBe('outside')
          expect(await tcp(box, SERVICE_ADDRESS, 80)).toBe('blocked')
          expect(await udp(box, '172.21.7.2', 53)).toBe('blocked')
        }),
    )
  })

  test('reaches private ranges where they are allowed, but never the metadata address', async () => {
    await withPodNetwork(podSettings({ allowPrivate: true }), async (network) => {
      const box = await lab.pod()
      network.admit(podMember('red', 'box', box))
      expect(await tcp(box, '172.21.7.2', 80)).toBe('outside')
      expect(await tcp(box, '169.254.169.253', 80)).toBe('blocked')
    })
  })

  test('reaches its project and nothing outside where that is switched off', async () => {
    await withPodNetwork(podSettings({ egress: false, allowPrivate: true }), async (network) => {
      const [box, friend] = [await lab.pod(), await lab.pod()]
      network.admit(podMember('red', 'box', box))
      network.admit(podMember('red', 'friend', friend))
      expect(await tcp(box, outside.address, 80)).toBe('blocked')
      expect(await udp(box, '10.98.7.2', 53)).toBe('blocked')
      const server = await serveAt(friend, BOX_PORT, 'friend')
      expect(await tcp(box, friend.address, BOX_PORT)).toBe('friend')
      server.close()
    })
  })
})

/** Returns the node's IPv4 addresses except loopback, each once. Some network plugins give one address to many interfaces. */
function hostAddresses(): string[] {
  const interfaces = Object.values(networkInterfaces()).flatMap((list = []) => list)
  const addresses = interfaces.filter(({ family, internal }) => family === 'IPv4' && !internal)
  return [...new Set(addresses.map(({ address }) => address))]
}

async function inet6Of({ networkNamespace }: Pod): Promise<string> {
  return (await runOk('nsenter', [`--net=${networkNamespace}`, 'ip', '-6', '-brief', 'address'])).stdout
}

/** Serves TCP on all addresses of the node, and UDP on `address`. */
async function serveNode(address: string): Promise<{ close(): void }> {
  const server = createServer((socket) => socket.end('node'))
  const datagrams = createSocket('udp4', (_, peer) => datagrams.send('node', peer.port, peer.address))
  await new Promise<void>((resolve) => server.listen(HOST_PORT, '0.0.0.0', resolve))
  await new Promise<void>((resolve) => datagrams.bind(HOST_PORT, address, resolve))
  return {
    close: () => {
      server.close()
      datagrams.close()
    },
  }
}

/** Returns the data that `listener` receives when `speaker` sends to its whole link. */
async function hear(listener: Pod, speaker: Pod): Promise<string> {
  const ear = spawn('nsenter', [
    `--net=${listener.networkNamespace}`,
    ...[
      process.execPath,
      '-e',
      `const s=${SOCKET};s.on('message',(m)=>process.stdout.write(m));s.bind(7001,()=>console.error('ready'))`,
    ],
  ])
  let heard = ''
  ear.stdout.on('data', (data: Buffer) => (heard += data.toString()))
  await new Promise((resolve) => ear.stderr.once('data', resolve))
  const all = speaker.address.replace(/\d+$/, '255')
  const words = `const s=${SOCKET};s.bind(()=>{s.setBroadcast(true);s.send('a word to all',7001,'${all}',()=>process.exit(0))})`
  await runOk('nsenter', [`--net=${speaker.networkNamespace}`, process.execPath, '-e', words])
  await sleep(HEARD_MS)
  ear.kill('SIGKILL')
  return heard
}

/** Runs `work` while the host has a table with `chain`. */
async function withTable(chain: string, work: () => Promise<void>): Promise<void> {
  const table = `podtest${process.pid}`
  await runOk('nft', [`table ip ${table} {\n${chain}\n}`])
  try {
    await work()
  } finally {
    await runOk('nft', ['delete', 'table', 'ip', table])
  }
}

const HOST_PORT = 7998
const HEARD_MS = 200
const SOCKET = "require('dgram').createSocket('udp4')"
/** Address of a cluster service, which no host has. */
const SERVICE_ADDRESS = '10.98.0.10'
/** Private and link-local addresses outside, all reachable from the host. */
const OUTSIDE_ADDRESSES = ['10.98.7.2', '172.21.7.2', '192.168.78.2', '100.64.8.2', '169.254.169.253'] as const
