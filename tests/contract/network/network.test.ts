import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { flowsPerBox } from '../../../agent/drivers/network/nft-rules.ts'
import { NAME_SERVER } from '../../../agent/drivers/network/slots.ts'
import type { NetworkSlot } from '../../../agent/ports/boxes/network.ts'
import {
  ANSWER_MS,
  ask,
  BOX_PORT,
  firstOutput,
  join,
  type LabServer,
  labSettings,
  type Outside,
  openOutside,
  runIn,
  serveAt,
  tcp,
  udp,
  withNetwork,
  withServers,
} from '../../helpers/network/lab.ts'
import { replaceResolvers, TURN_MS } from '../../helpers/network/resolvers.ts'
import { passable, passableNode } from '../../helpers/passable.ts'

let outside: Outside
let restoreResolvers: () => void
const listeners: LabServer[] = []

beforeAll(async () => {
  outside = await openOutside(OUTSIDE_ADDRESSES)
  restoreResolvers = await replaceResolvers('nameserver 127.0.0.53\nnameserver 10.99.7.2\nsearch example.test\n')
  for (const port of [53, 80]) listeners.push(await serveAt(outside, port, 'outside'))
  listeners.push(await serveAt(null, HOST_PORT, 'host'))
}, TURN_MS)

afterAll(() => {
  for (const listener of listeners) listener.close()
  restoreResolvers()
  outside.close()
})

describe('boxes of one project', () => {
  test('reach each other both ways, by address and by name', async () => {
    await withNetwork(labSettings(), async (network) => {
      const [one, two] = [await join(network, 'demo', 'one'), await join(network, 'demo', 'two')]
      await withServers([one, two], async () => {
        expect(await tcp(one, two.address, BOX_PORT)).toBe(two.address)
        expect(await tcp(two, one.address, BOX_PORT)).toBe(one.address)
        expect(await udp(one, two.address, BOX_PORT, ANSWER_MS)).toBe(two.address)
      })
      expect(one.hostsFile).toBe(two.hostsFile)
      const names = ['sh', '-c', `mount --bind ${two.hostsFile} /etc/hosts && getent ahosts one && getent ahosts two`]
      const answer = await runIn(two, ['unshare', '--mount', ...names], 'host')
      expect(answer).toMatch(new RegExp(`^${one.address} +STREAM one$`, 'm'))
      expect(answer).toMatch(new RegExp(`^${two.address} +STREAM two$`, 'm'))
    })
  })

  test('are neither reached nor resolved once they have left', async () => {
    await withNetwork(labSettings(), async (network) => {
      const [one, two] = [await join(network, 'demo', 'one'), await join(network, 'demo', 'two')]
      const inode = statSync(one.hostsFile).ino
      await withServers([two], async () => {
        await network.leave('box_demo_two')
        expect(await tcp(one, two.address, BOX_PORT)).toBe('blocked')
      })
      expect(readFileSync(one.hostsFile, 'utf8')).not.toContain('two')
      expect(statSync(one.hostsFile).ino).toBe(inode)
      await network.leave('box_demo_two')
    })
  })
})

describe('boxes of different projects', () => {
  test('do not reach each other, in either direction', async () => {
    await withNetwork(labSettings({ allowPrivate: true }), async (network) => {
      const [red, blue] = [await join(network, 'red', 'box'), await join(network, 'blue', 'box')]
      await withServers([red, blue], async () => {
        for (const [from, to] of [
          [red, blue],
          [blue, red],
        ] as const) {
          expect(await tcp(from, to.address, BOX_PORT)).toBe('blocked')
          expect(await udp(from, to.address, BOX_PORT)).toBe('blocked')
        }
      })
    })
  })

  test('of two instances with the same project name do not reach each other', async () => {
    await withNetwork(labSettings({ allowPrivate: true }), (first) =>
      withNetwork(labSettings({ allowPrivate: true }), async (second) => {
        const [one, two] = [await join(first, 'demo', 'one'), await join(second, 'demo', 'two')]
        expect(one.address).not.toBe(two.address)
        expect(one.idBase).not.toBe(two.idBase)
        await withServers([one, two], async () => {
          expect(await tcp(one, two.address, BOX_PORT)).toBe('blocked')
          expect(await udp(two, one.address, BOX_PORT)).toBe('blocked')
        })
      }),
    )
  })

  test('cannot speak with the source address of another box', async () => {
    await withNetwork(labSettings(), async (network) => {
      const [thief, victim, friend] = [
        await join(network, 'red', 'a'),
        await join(network, 'blue', 'b'),
        await join(network, 'blue', 'c'),
      ]
      await withServers([friend], async ([listener]) => {
        await runIn(thief, ['ip', 'address', 'add', `${victim.address}/32`, 'dev', 'eth0'])
        expect(
          await ask(thief, { protocol: 'udp', host: friend.address, port: BOX_PORT, source: victim.address }),
        ).toBe('blocked')
        expect(
          await ask(thief, { protocol: 'tcp', host: friend.address, port: BOX_PORT, source: victim.address }),
        ).toBe('blocked')
        expect(await udp(victim, friend.address, BOX_PORT, ANSWER_MS)).toBe(friend.address)
        expect(listener?.lines).toEqual(['ready', `udp ${victim.address}`])
      })
    })
  })
})

describe('a box', () => {
  test("reaches none of the host's addresses", async () => {
    await withNetwork(labSettings({ allowPrivate: true }), async (network) => {
      const box = await join(network, 'demo', 'box')
      const own = Object.values(networkInterfaces()).flatMap((list = []) =>
        list.flatMap((a) => (a.family === 'IPv4' ? [a.address] : [])),
      )
      expect(own).toContain(outside.hostAddress)
      for (const address of [...own.filter((one) => one !== '127.0.0.1'), '169.254.1.1']) {
        expect([address, await tcp(box, address, HOST_PORT)]).toEqual([address, 'blocked'])
      }
      expect(await udp(box, outside.hostAddress, HOST_PORT)).toBe('blocked')
      expect(await tcp(null, outside.hostAddress, HOST_PORT)).toBe('host')
    })
  })

  test("reaches the outside under the host's address, but no private ranges and no metadata", async () => {
    await withNetwork(labSettings(), async (network) => {
      const box = await join(network, 'demo', 'box')
      expect(await tcp(box, outside.address, 80)).toBe('outside')
      expect(await udp(box, outside.address, 80, ANSWER_MS)).toBe('outside')
      expect(new Set(listeners[1]?.lines.slice(1))).toEqual(
        new Set([`tcp ${outside.hostAddress}`, `udp ${outside.hostAddress}`]),
      )
      for (const address of OUTSIDE_ADDRESSES) {
        expect([address, await tcp(box, address, 80)]).toEqual([address, 'blocked'])
        expect([address, await tcp(null, address, 80)]).toEqual([address, 'outside'])
      }
    })
  })

  test('reaches the resolvers it is given although they are private, on port 53 only', async () => {
    await withNetwork(labSettings(), async (network) => {
      const box = await join(network, 'demo', 'box')
      expect(readFileSync(box.resolvFile, 'utf8')).toBe(
        `nameserver ${NAME_SERVER}\nsearch example.test\noptions ndots:0 timeout:2 attempts:3\n`,
      )
      expect(await udp(box, '10.99.7.2', 53, ANSWER_MS)).toBe('outside')
      expect(await tcp(box, '10.99.7.2', 53)).toBe('outside')
      expect(await udp(box, '192.168.77.2', 53)).toBe('blocked')
    })
  })

  test('reaches private ranges where they are allowed, but never the metadata address', async () => {
    await withNetwork(labSettings({ allowPrivate: true }), async (network) => {
      const box = await join(network, 'demo', 'box')
      expect(await tcp(box, '192.168.77.2', 80)).toBe('outside')
      expect(await tcp(box, '169.254.169.254', 80)).toBe('blocked')
    })
  })

  test('reaches nothing outside where that is switched off, resolvers included', async () => {
    await withNetwork(labSettings({ egress: false, allowPrivate: true }), async (network) => {
      const [one, two] = [await join(network, 'demo', 'one'), await join(network, 'demo', 'two')]
      expect(await tcp(one, outside.address, 80)).toBe('blocked')
      expect(await udp(one, '10.99.7.2', 53)).toBe('blocked')
      await withServers([two], async () => expect(await tcp(one, two.address, BOX_PORT)).toBe(two.address))
    })
  })

  test('is reached by the host, and from outside not at all', async () => {
    await withNetwork(labSettings(), async (network) => {
      const box = await join(network, 'demo', 'box')
      await withServers([box], async () => {
        expect(await tcp(null, box.address, BOX_PORT)).toBe(box.address)
        expect(await tcp(outside, box.address, BOX_PORT)).toBe('blocked')
        expect(await udp(outside, box.address, BOX_PORT)).toBe('blocked')
      })
    })
  })

  test('has loopback in both families, no IPv6 elsewhere, and may ping without privilege', async () => {
    await withNetwork(labSettings(), async (network) => {
      const [one, two] = [await join(network, 'demo', 'one'), await join(network, 'demo', 'two')]
      expect(await runIn(one, ['ip', '-6', '-brief', 'address'])).toMatch(/^lo\s+UNKNOWN\s+::1\/128\s*$/)
      expect(await runIn(one, ['cat', '/proc/sys/net/ipv4/ping_group_range'])).toBe('0\t65535\n')
      expect(await runIn(one, ['cat', '/proc/sys/net/ipv4/ip_unprivileged_port_start'])).toBe('0\n')
      await runIn(one, ['busybox', 'ping', '-c', '1', '-W', '2', two.address])
      expect(await runIn(one, ['cat', '/proc/self/uid_map'])).toMatch(
        new RegExp(`^\\s*0\\s+${one.idBase}\\s+65536\\s*$`),
      )
    })
  })

  test("uses up no kernel counter of another box or of the host's root", async () => {
    await withNetwork(labSettings(), async (network) => {
      const [one, two] = [await join(network, 'demo', 'one'), await join(network, 'demo', 'two')]
      const hog = spawn('nsenter', [`--user=${one.userNamespace}`, ...watchers(19_000)], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      try {
        expect(await firstOutput(hog)).toMatch(/^\d+ EMFILE\n$/)
        expect(await runIn(one, watchers(1))).toBe('0 EMFILE\n')
        expect(await runIn(two, watchers(1))).toBe('1\n')
        expect(await runIn(two, watchers(1), 'host')).toBe('1\n')
      } finally {
        hog.stdin.end()
      }
    })
  })

  test("cannot fill the host's memory of connections", async () => {
    await withNetwork(labSettings(), async (network) => {
      const box = await join(network, 'demo', 'box')
      await flood(box, outside.address, 6_000)
      const added = connectionCount(box.address)
      const allowed = flowsPerBox(Number(readFileSync('/proc/sys/net/netfilter/nf_conntrack_max', 'utf8')))
      expect(added).toBeGreaterThan(allowed * 0.8)
      expect(added).toBeLessThan(allowed + 500)
      expect(await udp(box, outside.address, 80)).toBe('blocked')
    })
  })
})

/** Returns a program that makes up to `count` inotify instances and prints how many it got. */
function watchers(count: number): string[] {
  return [passableNode(), passable(new URL('../../fixtures/inotify-hog.ts', import.meta.url).pathname), String(count)]
}

/** Sends one datagram to each of `count` ports. */
async function flood(slot: NetworkSlot, host: string, count: number): Promise<void> {
  const script = `const s=require('dgram').createSocket('udp4');let p=10000;(function go(){if(p===${10_000 + count})return process.exit(0);s.send('x',p++,'${host}',go)})()`
  await runIn(slot, [passableNode(), '-e', script])
}

/** Counts the connections that an address opened. */
function connectionCount(address: string): number {
  return readFileSync('/proc/net/nf_conntrack', 'utf8').split(` src=${address} dst=${outside.address} `).length - 1
}

const HOST_PORT = 7999
/** Private and link-local addresses outside, all reachable from the host. */
const OUTSIDE_ADDRESSES = ['10.99.7.2', '172.20.7.2', '192.168.77.2', '100.64.7.2', '169.254.169.254'] as const
