import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { NAME_SERVER } from '../../../agent/drivers/network/slots.ts'
import { runOk } from '../../../agent/lib/run.ts'
import type { NetworkSlot } from '../../../agent/ports/boxes/network.ts'
import { eventually } from '../../helpers/eventually.ts'
import {
  BOX_PORT,
  dns,
  firstOutput,
  join,
  labSettings,
  lookUp,
  type Outside,
  openOutside,
  startDns,
  tcp,
  udp,
  withNetwork,
  withServers,
} from '../../helpers/network/lab.ts'
import { nameServers } from '../../helpers/network/name-servers.ts'
import { replaceResolvers, TURN_MS } from '../../helpers/network/resolvers.ts'

const RESOLVER = '10.99.7.9'
/** Numbers of record types. */
const TYPES = { A: 1, NS: 2, SOA: 6, MX: 15, TXT: 16, AAAA: 28, SRV: 33, HTTPS: 65, ANY: 255 }
let outside: Outside
let upstream: ChildProcess
let asked = ''
let restoreResolvers: () => void

beforeAll(async () => {
  outside = await openOutside([RESOLVER])
  restoreResolvers = await replaceResolvers(`nameserver ${RESOLVER}\nsearch example.test\noptions ndots:5\n`)
  const records = ['--address=/outside.test/192.0.2.9', '--address=/rebound.test/10.213.0.1', '--address=/#/']
  const how = [
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--no-resolv',
    '--no-hosts',
    '--pid-file=',
    '--user=root',
  ]
  const args = [...how, `--listen-address=${RESOLVER}`, '--bind-interfaces', '--log-queries', '--log-facility=-']
  upstream = spawn('nsenter', [`--net=${outside.networkNamespace}`, 'dnsmasq', ...args, ...records])
  upstream.stderr?.on('data', (text: Buffer) => {
    asked += text.toString()
  })
  await eventually(() => asked.includes('started'))
}, TURN_MS)

afterAll(() => {
  upstream.kill('SIGKILL')
  restoreResolvers()
  outside.close()
})

describe('the names of boxes', () => {
  test('are answered over UDP and TCP, with the names of addresses, as boxes come and go', async () => {
    await withNetwork(labSettings(), async (network) => {
      const [one, two] = [await join(network, 'demo', 'one'), await join(network, 'demo', 'two')]
      expect(await lookUp(one, 'two')).toBe(two.address)
      expect(await lookUp(two, 'ONE')).toBe(one.address)
      expect(await lookUp(one, 'one')).toBe(one.address)
      expect(await lookUp(one, 'localhost')).toBe('127.0.0.1')
      expect(await lookUp(one, 'two', 'A', 'tcp')).toBe(two.address)
      expect(await lookUp(one, 'two', 'AAAA')).toBe('ENODATA')
      expect(await lookUp(one, two.address, 'PTR')).toBe('two')
      expect(await lookUp(one, 'three')).toBe('ENOTFOUND')
      const three = await join(network, 'demo', 'three')
      await eventually(async () => (await lookUp(one, 'three')) === three.address)
      await network.leave('box_demo_two')
      await eventually(async () => (await lookUp(one, 'two')) === 'ENOTFOUND')
      expect(await lookUp(one, two.address, 'PTR')).toBe('ENOTFOUND')
      expect(readFileSync(one.resolvFile, 'utf8')).toBe(
        `nameserver ${NAME_SERVER}\nsearch example.test\noptions ndots:5\noptions ndots:0 timeout:2 attempts:3\n`,
      )
    })
  })

  test('are those of a project alone, also where another has the same', async () => {
    await withNetwork(labSettings({ allowPrivate: true }), async (network) => {
      const [red, blue] = [await join(network, 'red', 'box'), await join(network, 'blue', 'box')]
      const friend = await join(network, 'blue', 'friend')
      expect(await lookUp(red, 'box')).toBe(red.address)
      expect(await lookUp(blue, 'box')).toBe(blue.address)
      expect(await lookUp(red, 'friend')).toBe('ENOTFOUND')
      expect(await lookUp(red, friend.address, 'PTR')).toBe('ENOTFOUND')
    })
  })

  test('are never asked outside, unlike names with a dot, whose answers cannot be boxes', async () => {
    await withNetwork(labSettings(), async (network) => {
      const box = await join(network, 'demo', 'box')
      expect(await lookUp(box, 'outside.test')).toBe('192.0.2.9')
      expect(await lookUp(box, 'rebound.test')).toBe('ENOTFOUND')
      expect(await lookUp(box, 'nowhere.test')).toBe('ENOTFOUND')
      for (const name of ['secretbox', 'box']) await lookUp(box, name)
      await lookUp(box, '10.213.9.9', 'PTR')
      expect(asked).toContain('query[A] nowhere.test')
      expect(asked).not.toMatch(/secretbox|\bbox\b|213\.10\.in-addr/)
    })
  })

  test.each([
    ['udp', ''],
    ['udp', 'edns'],
    ['tcp', ''],
    ['tcp', 'edns'],
  ])('have one answer to each type of record over %s %s', async (protocol, extension) => {
    await withNetwork(labSettings({ allowPrivate: true }), async (network) => {
      const [box] = [await join(network, 'demo', 'typed'), await join(network, 'other', 'foreign')]
      await network.namesReady('box_demo_typed')
      const before = asked.length
      const types = Object.values(TYPES)
      const names = ['typed', 'absent', 'foreign']
      const said = await dns(box, 'raw', NAME_SERVER, names.join(), types.join(), protocol, extension)
      const additional = extension === '' ? 0 : 1
      const expected = names.flatMap((name) =>
        types.map((type) => {
          const answers = type === TYPES.A || type === TYPES.ANY ? 1 : 0
          return `${name} ${type} ${name === 'typed' ? `NOERROR ${answers}` : 'NXDOMAIN 0'} ${additional}`
        }),
      )
      expect(said.split('\n')).toEqual(expected)
      expect(asked.slice(before)).not.toMatch(/typed|absent|foreign/)
    })
  })

  test('are answered from the moment on that the network calls them ready, by tcp as well', async () => {
    await withNetwork(labSettings({ allowPrivate: true }), async (network) => {
      const projects = ['a', 'b', 'c', 'd', 'e', 'f']
      const answers = projects.map(async (project) => {
        const box = await join(network, project, 'first')
        await network.namesReady(`box_${project}_first`)
        return dns(box, 'raw', NAME_SERVER, 'first', String(TYPES.A), 'tcp')
      })
      expect(await Promise.all(answers)).toEqual(projects.map(() => 'first 1 NOERROR 1 0'))
      await network.namesReady('box_unknown_box')
    })
  })

  test('are all there is without egress', async () => {
    await withNetwork(labSettings({ egress: false, allowPrivate: true }), async (network) => {
      const [one, two] = [await join(network, 'demo', 'one'), await join(network, 'demo', 'two')]
      const before = asked
      expect(await lookUp(one, 'two')).toBe(two.address)
      expect(await lookUp(one, 'data.outside.test')).toBe('ENOTFOUND')
      expect(await lookUp(one, 'data.outside.test', 'TXT')).toBe('ENOTFOUND')
      expect(asked).toBe(before)
    })
  })

  test('follow the resolvers of the host', async () => {
    await withNetwork(labSettings(), async (network) => {
      const box = await join(network, 'demo', 'box')
      expect(await lookUp(box, 'outside.test')).toBe('192.0.2.9')
      writeFileSync('/etc/resolv.conf', 'nameserver 10.99.7.10\n')
      await sleep(6_000)
      expect(await lookUp(box, 'outside.test')).not.toBe('192.0.2.9')
      expect(await lookUp(box, 'box')).toBe(box.address)
      writeFileSync('/etc/resolv.conf', `nameserver ${RESOLVER}\n`)
    })
  })
})

describe('a name server', () => {
  test('that is killed is there again, for a client that keeps its socket too', async () => {
    await withNetwork(labSettings(), async (network) => {
      const box = await join(network, 'demo', 'box')
      expect(await lookUp(box, 'box')).toBe(box.address)
      const client = startDns(box, ['time', NAME_SERVER, 'box', '300'])
      await sleep(300)
      const [pid] = serversOf(box)
      process.kill(pid ?? 0, 'SIGKILL')
      await eventually(() => serversOf(box).length === 1 && serversOf(box)[0] !== pid)
      expect(await lookUp(box, 'box')).toBe(box.address)
      const [median = 1000] = (await firstOutput(client)).split(' ').map(Number)
      expect(median).toBeLessThan(100)
      expect(await network.problems()).toEqual([])
    })
  })

  test('runs while its project has a box, without rights, and is not reached by others', async () => {
    await withNetwork(labSettings({ allowPrivate: true }), async (network) => {
      const [box, other] = [await join(network, 'demo', 'box'), await join(network, 'other', 'box')]
      await lookUp(box, 'box')
      const [pid = 0] = serversOf(box)
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) expect(status).toMatch(new RegExp(`Cap${set}:\t0+$`, 'm'))
      expect(status).toMatch(/^NoNewPrivs:\t1$/m)
      expect(status).not.toMatch(/^Uid:.*\t0\t/m)
      const server = await serverAddress(pid)
      expect(await udp(other, server, 53)).toBe('blocked')
      expect(await tcp(other, server, 53)).toBe('blocked')
      // A box of the same project reaches the server only at the box's own address, which limits its rate of queries.
      expect(await udp(box, server, 53)).toBe('blocked')
      expect(await tcp(box, server, 53)).toBe('blocked')
      // The server cannot reach addresses that it does not need.
      await withServers([box], async () => {
        const place = { networkNamespace: `/proc/${pid}/ns/net` }
        expect(await tcp(place, box.address, BOX_PORT)).toBe('blocked')
        expect(await tcp(place, outside.address, 53)).toBe('blocked')
      })
      await network.leave('box_demo_box')
      await eventually(() => !existsSync(`/proc/${pid}`))
    })
  })

  test('answers others of its project while one box floods it', async () => {
    await withNetwork(labSettings(), async (network) => {
      const [one, two] = [await join(network, 'demo', 'one'), await join(network, 'demo', 'two')]
      await lookUp(one, 'two')
      const median = async (): Promise<number> =>
        Number((await dns(one, 'time', NAME_SERVER, 'two', '100')).split(' ')[0])
      const alone = await median()
      const flood = startDns(two, ['flood', NAME_SERVER, '5'])
      await firstOutput(flood)
      const startedWith = ticksOf(serversOf(one)[0] ?? 0)
      const flooded = await median()
      const ticks = ticksOf(serversOf(one)[0] ?? 0) - startedWith
      flood.kill('SIGKILL')
      expect(flooded).toBeLessThan(Math.max(2 * alone, 5))
      expect(ticks).toBeLessThan(50)
    })
  })
})

/** Returns the pids of the servers of a box's project. */
function serversOf(box: NetworkSlot): number[] {
  return nameServers(dirname(box.hostsFile), basename(box.hostsFile))
}

async function serverAddress(pid: number): Promise<string> {
  const { stdout } = await runOk('nsenter', [
    `--net=/proc/${pid}/ns/net`,
    'ip',
    '-4',
    '-oneline',
    'address',
    'show',
    'eth0',
  ])
  return /inet ([\d.]+)/.exec(stdout)?.[1] ?? ''
}

/** Returns the CPU time of a process, in hundredths of a second. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}
