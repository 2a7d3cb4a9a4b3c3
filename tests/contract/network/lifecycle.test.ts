import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createNftNetwork, type NftNetworkSettings } from '../../../agent/drivers/network/nft-network.ts'
import { IDS_PER_SLOT, SLOTS_MAX } from '../../../agent/drivers/network/slots.ts'
import { run, runOk } from '../../../agent/lib/run.ts'
import type { NetworkMember, NetworkProblem, NetworkSlot } from '../../../agent/ports/boxes/network.ts'
import { eventually } from '../../helpers/eventually.ts'
import {
  ANSWER_MS,
  BOX_PORT,
  firstOutput,
  join,
  type LabServer,
  labSettings,
  lookUp,
  member,
  type Outside,
  openOutside,
  runIn,
  serveAt,
  tcp,
  udp,
  withNetwork,
  withServers,
} from '../../helpers/network/lab.ts'
import { nameServers } from '../../helpers/network/name-servers.ts'
import { passable, passableNode } from '../../helpers/passable.ts'

let outside: Outside
const listeners: LabServer[] = []

beforeAll(async () => {
  outside = await openOutside()
  listeners.push(await serveAt(outside, 80, 'outside'), await serveAt(outside, LATE_PORT, 'late', LATE_MS))
})

afterAll(() => {
  for (const listener of listeners) listener.close()
  outside.close()
})

describe('slots', () => {
  test('stay the same for a box that joins twice, and are separate for 50 boxes at once', async () => {
    await withNetwork(labSettings(), async (network) => {
      const names = Array.from({ length: 50 }, (_, i) => `box-${i}`)
      const slots = await Promise.all([...names, ...names].map((name) => join(network, 'demo', name)))
      expect(slots.slice(0, 50)).toEqual(slots.slice(50))
      for (const key of ['index', 'address', 'idBase', 'networkNamespace'] as const) {
        expect(new Set(slots.map((slot) => slot[key])).size).toBe(50)
      }
      const [first, last] = [slots[0], slots[49]]
      if (!first || !last) throw new Error('slots are missing')
      await withServers([last], async () => expect(await tcp(first, last.address, BOX_PORT)).toBe(last.address))
    })
  })

  test('reused by the same project get no traffic meant for the earlier box', async () => {
    await withNetwork(labSettings({ spareMin: 0 }), async (network) => {
      const old = await join(network, 'red', 'old')
      // An outgoing datagram opens the return path in the kernel's connection table.
      await sendFrom(old, outside.address, LATE_PORT)
      await network.leave('box_red_old')
      const next = await join(network, 'red', 'next')
      expect(next.index).toBe(old.index)
      await withServers([next], async ([listener]) => {
        expect(await udp(next, outside.address, LATE_PORT, ANSWER_MS)).toBe('late')
        await sleep(LATE_MS)
        expect(listener?.lines).toEqual(['ready'])
      })
    })
  })

  test('are made anew for another project, without a trace of earlier traffic', async () => {
    await withNetwork(labSettings({ spareMin: 0 }), async (network) => {
      const [old, friend] = [await join(network, 'red', 'old'), await join(network, 'red', 'friend')]
      await udp(old, outside.address, LATE_PORT)
      expect(await trafficOf(old)).toBeGreaterThan(0)
      await network.leave('box_red_old')
      const next = await join(network, 'blue', 'next')
      expect(await trafficOf(next)).toBe(0)
      await withServers([next], async () => expect(await tcp(friend, next.address, BOX_PORT)).toBe('blocked'))
      expect(readFileSync(next.hostsFile, 'utf8')).not.toContain('friend')
    })
  })
})

describe('after kill -9 of the agent', () => {
  test('running boxes keep their network, are adopted with it, and stay isolated', async () => {
    const settings = labSettings()
    const boxes = await crashedAgent(settings, [member('red', 'one'), member('red', 'two'), member('blue', 'box')])
    await eventually(() => nameServers(settings.dataDir).length === 2)
    const left = nameServers(settings.dataDir)
    try {
      await withNetwork(settings, async (network) => {
        const [one, two, blue] = boxes.map(({ pid }) => ({ networkNamespace: `/proc/${pid}/ns/net` }))
        const [oneBox, twoBox, blueBox] = boxes
        if (!one || !two || !blue || !oneBox || !twoBox || !blueBox) throw new Error('boxes are missing')
        expect(await tcp(one, twoBox.address, BOX_PORT)).toBe('two')
        expect(readFileSync(twoBox.hostsFile, 'utf8')).toContain(`${oneBox.address} one\n`)
        // The servers left by the old agent answer names, each for its own project, before and after boxes are adopted.
        expect(nameServers(settings.dataDir)).toEqual(left)
        expect(await lookUp(one, 'two')).toBe(twoBox.address)
        expect(await lookUp(blue, 'two')).toBe('ENOTFOUND')
        // A new box must not count as a member of a project whose boxes are not adopted yet.
        const newcomer = await join(network, 'green', 'newcomer')
        for (const box of boxes) expect(await tcp(newcomer, box.address, BOX_PORT)).toBe('blocked')
        for (const box of boxes) {
          const slot = await network.adopt(box.member, box.index, box.pid)
          expect(slot).toMatchObject({ index: box.index, address: box.address, hostsFile: box.hostsFile })
          expect(await network.join(box.member)).toEqual(slot)
        }
        const another = await join(network, 'red', 'three')
        await eventually(async () => (await lookUp(one, 'three')) === another.address)
        expect(nameServers(settings.dataDir)).toHaveLength(3)
        for (const pid of nameServers(settings.dataDir)) process.kill(pid, 'SIGKILL')
        expect(await lookUp(another, 'one')).toBe(oneBox.address)
        expect(await lookUp(blue, 'box')).toBe(blueBox.address)
        expect(await tcp(another, oneBox.address, BOX_PORT)).toBe('one')
        expect(await tcp(two, oneBox.address, BOX_PORT)).toBe('one')
        expect(await tcp(blue, oneBox.address, BOX_PORT)).toBe('blocked')
        expect(await tcp(one, blueBox.address, BOX_PORT)).toBe('blocked')
        expect(await tcp(blue, outside.address, 80)).toBe('outside')
        await expect(network.adopt(member('red', 'stranger'), another.index, process.pid)).rejects.toThrow('slot')
      })
    } finally {
      for (const box of boxes) await run('kill', ['-9', String(box.pid)])
    }
  })
})

describe('after kill -9 of the agent, the boxes, and some name servers', () => {
  test('those that are left are ended, and those of boxes that run are there', async () => {
    const settings = labSettings()
    const boxes = await crashedAgent(settings, [member('red', 'one'), member('green', 'one'), member('blue', 'one')])
    const [red, green, blue] = boxes
    if (!red || !green || !blue) throw new Error('boxes are missing')
    try {
      await run('kill', ['-9', String(red.pid), ...nameServers(settings.dataDir, 'green').map(String)])
      await eventually(() => nameServers(settings.dataDir).length === 2)
      const starting = spawn('sh', ['-c', 'read _', 'names', `--addn-hosts=${settings.runDir}/hosts/black`])
      const ended = new Promise((resolve) => starting.once('exit', (_code, signal) => resolve(signal)))
      for (const name of ['black.7.pid', 'odd']) writeFileSync(`${settings.runDir}/names/${name}`, `${starting.pid}\n`)
      await withNetwork(settings, async (network) => {
        expect(await ended).toBe('SIGKILL')
        expect(readdirSync(`${settings.runDir}/names`).join(' ')).not.toMatch(/black|odd|red/)
        await eventually(() => nameServers(settings.dataDir, 'red').length === 0)
        for (const box of [green, blue]) {
          await network.adopt(box.member, box.index, box.pid)
          const place = { networkNamespace: `/proc/${box.pid}/ns/net` }
          expect(await lookUp(place, 'one')).toBe(box.address)
        }
        expect(nameServers(settings.dataDir)).toHaveLength(2)
      })
      expect(nameServers(settings.dataDir)).toEqual([])
    } finally {
      for (const box of boxes) await run('kill', ['-9', String(box.pid)])
    }
  })
})

describe('the host', () => {
  test('reports flushed rules, and restores them with every box still in its project', async () => {
    await withNetwork(labSettings(), async (network) => {
      const [one, two] = [await join(network, 'demo', 'one'), await join(network, 'demo', 'two')]
      const table = `boxyard_${instanceOf(one)}`
      await runOk('nft', ['delete', 'table', 'inet', table])
      const removed = expect.objectContaining({ code: 'packet_filter_removed' })
      expect(await network.problems()).toEqual([removed])
      expect(await network.problems()).toEqual([removed])
      await withServers([two], async () => expect(await tcp(one, two.address, BOX_PORT)).toBe(two.address))
      await runOk('nft', ['delete', 'table', 'inet', table])
      const three = await join(network, 'other', 'three')
      await withServers([two], async () => expect(await tcp(three, two.address, BOX_PORT)).toBe('blocked'))
    })
  })

  test('restores its rules within moments by itself', async () => {
    await withNetwork(labSettings(), async (network) => {
      const [one, two] = [await join(network, 'red', 'one'), await join(network, 'blue', 'two')]
      await runOk('nft', ['delete', 'table', 'inet', `boxyard_${instanceOf(one)}`])
      const table = `table inet boxyard_${instanceOf(one)}`
      await eventually(async () => (await tracesOf(instanceOf(one))).includes(table))
      await withServers([two], async () => expect(await tcp(one, two.address, BOX_PORT)).toBe('blocked'))
    })
  })

  test('reports, with a remedy, what keeps boxes from being connected', async () => {
    const problems = await problemsAfter([
      'echo 0 >/proc/sys/net/ipv4/ip_forward',
      'nft add table ip other',
      "nft 'add chain ip other forward { type filter hook forward priority 0; policy drop; }'",
      'ip link set lo up',
      'ip route add 10.213.7.0/24 dev lo',
    ])
    expect(problems.map(({ code }) => code)).toEqual([
      'forwarding_off',
      'forward_dropped',
      'no_nameserver',
      'subnet_in_use',
    ])
    expect(problems[1]?.evidence).toContain('ip other forward')
    expect(problems.every(({ remedy }) => remedy.length > 10)).toBe(true)
  })

  test('accepts a chain that drops by policy but lets boxes pass', async () => {
    const problems = await problemsAfter([
      'echo 1 >/proc/sys/net/ipv4/ip_forward',
      'nft add table ip other',
      "nft 'add chain ip other forward { type filter hook forward priority 0; policy drop; }'",
      `nft 'add rule ip other forward iifname "bx*" accept'`,
    ])
    expect(problems.map(({ code }) => code)).toEqual(['no_nameserver'])
  })

  test('refuses a subnet in which it has an address itself', async () => {
    const settings = labSettings({ subnet: '203.0.0.0/16' })
    await expect(createNftNetwork(settings).open()).rejects.toThrow(/ 203\.0\.113\.\d+ in 203\.0\.0\.0\/16/)
    rmSync(settings.dataDir, { recursive: true })
  })

  test('keeps nothing of a network that was released', async () => {
    const settings = labSettings()
    const network = createNftNetwork(settings)
    await network.open()
    const instance = instanceOf(await join(network, 'demo', 'box'))
    expect((await tracesOf(instance)).length).toBeGreaterThanOrEqual(3)
    await network.close({ release: true })
    expect(await tracesOf(instance)).toEqual([])
    expect(readdirSync(settings.runDir)).toEqual([])
    expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(settings.runDir)
    rmSync(settings.dataDir, { recursive: true })
  })
})

interface CrashedBox {
  member: NetworkMember
  index: number
  address: string
  hostsFile: string
  pid: number
}

async function crashedAgent(
  { logger: _, ...settings }: NftNetworkSettings,
  members: NetworkMember[],
): Promise<CrashedBox[]> {
  const program = passable(new URL('../../fixtures/network-agent.ts', import.meta.url).pathname)
  const order = JSON.stringify({ settings, members, port: BOX_PORT })
  const args = ['--mount', '--propagation', 'slave', passableNode(), program, order]
  const agent = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const boxes = JSON.parse(await firstOutput(agent)) as CrashedBox[]
  const ended = new Promise((resolve) => agent.once('exit', resolve))
  // Boxes do not wait for the name server of their project.
  const projects = new Set(members.map(({ project }) => project)).size
  await eventually(() => nameServers(settings.dataDir).length === projects)
  agent.kill('SIGKILL')
  await ended
  return boxes
}

/** Runs `commands` in a network namespace, and returns the problems found there. */
async function problemsAfter(commands: readonly string[]): Promise<NetworkProblem[]> {
  const program = new URL('../../fixtures/network-problems.ts', import.meta.url).pathname
  const script = [...commands, `exec "${process.execPath}" "${program}"`].join(' && ')
  return JSON.parse((await runOk('unshare', ['--net', 'sh', '-c', script])).stdout) as NetworkProblem[]
}

/** Sends one datagram from a box's server port to an outside host. */
async function sendFrom(slot: NetworkSlot, host: string, port: number): Promise<void> {
  const script = `const s=require('dgram').createSocket('udp4');s.bind(${BOX_PORT},()=>s.send('x',${port},'${host}',()=>process.exit(0)))`
  await runIn(slot, [passableNode(), '-e', script])
}

/** Counts the datagrams sent in a box's network since its creation. */
async function trafficOf(slot: NetworkSlot): Promise<number> {
  const counters = (await runIn(slot, ['cat', '/proc/net/snmp'])).split('\n').filter((line) => line.startsWith('Udp:'))
  const [names = [], values = []] = counters.map((line) => line.split(' '))
  return Number(values[names.indexOf('OutDatagrams')])
}

/** Returns the instance number of a slot. */
function instanceOf(slot: NetworkSlot): number {
  return Math.floor((slot.idBase - 0x4000_0000) / (IDS_PER_SLOT * SLOTS_MAX))
}

/** Lists the tables, interfaces and the claim of an instance on the host. */
async function tracesOf(instance: number): Promise<string[]> {
  const { stdout: tables } = await runOk('nft', ['list', 'tables'])
  const claim = `/run/boxyard/hosts/${instance}`
  return [
    ...tables.split('\n').filter((line) => line === `table inet boxyard_${instance}`),
    ...readdirSync('/sys/class/net').filter((name) => name.startsWith(`bx${instance}-`)),
    ...(existsSync(claim) ? [claim] : []),
  ]
}

const LATE_PORT = 8053
const LATE_MS = 700
