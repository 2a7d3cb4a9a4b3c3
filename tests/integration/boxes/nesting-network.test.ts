import { execSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type ExecOutcome, execute, untilGone } from '../../helpers/boxes/oci-lab.ts'
import { ANSWER_MS, ask, BOX_PORT, type LabServer, serveAt, tcp, udp } from '../../helpers/network/lab.ts'
import { initOf, openVolumeLab, type VolumeLab } from '../../helpers/volumes/lab.ts'

describe('the network of a hostile box with nesting', () => {
  let volumes: VolumeLab
  const servers: LabServer[] = []
  const boxes = { liar: 'near', mate: 'near', victim: 'near', other: 'far' }
  type Name = keyof typeof boxes
  const addresses = {} as Record<Name, string>
  const places = {} as Record<Name, { networkNamespace: string; userNamespace: string }>

  beforeAll(async () => {
    volumes = await openVolumeLab()
    for (const [name, project] of Object.entries(boxes) as [Name, string][]) {
      await volumes.startBox(`box_${name}`, { nesting: name === 'liar', project })
      addresses[name] = (await volumes.lab.network.addressOf(`box_${name}`)) ?? ''
      const pid = await initOf(volumes.lab, `box_${name}`)
      places[name] = { networkNamespace: `/proc/${pid}/ns/net`, userNamespace: `/proc/${pid}/ns/user` }
      if (name !== 'liar') servers.push(await serveAt(places[name], BOX_PORT, name))
    }
  })

  afterAll(async () => {
    for (const server of servers) server.close()
    await volumes.close()
    await untilGone(volumes.lab)
  })

  const liar = (command: string): Promise<ExecOutcome> => execute(volumes.lab.runtime, 'box_liar', command)

  test('speaks under its own address, within its project alone (positive control)', async () => {
    expect(await udp(places.liar, addresses.mate, BOX_PORT, ANSWER_MS)).toBe('mate')
    expect(servers[0]?.lines).toContain(`udp ${addresses.liar}`)
    expect(await udp(places.liar, addresses.other, BOX_PORT)).toBe('blocked')
    expect(await tcp(places.liar, addresses.other, BOX_PORT)).toBe('blocked')
  })

  test.each(['victim', 'other', '10.88.0.5', '192.0.2.7'])('never speaks under the address %s', async (whose) => {
    const source = addresses[whose as Name] ?? whose
    expect((await liar(`ip addr add ${source}/32 dev eth0`)).exitCode).toBe(0)
    const before = servers[0]?.lines.length
    for (const protocol of ['udp', 'tcp'] as const)
      expect(await ask(places.liar, { protocol, host: addresses.mate, port: BOX_PORT, source })).toBe('blocked')
    expect(servers[0]?.lines.length).toBe(before)
    await liar(`ip addr del ${source}/32 dev eth0`)
  })

  test('takes no address from another by claiming it with ARP under another MAC, and by forwarding', async () => {
    const claims = [
      `ip addr add ${addresses.victim}/32 dev eth0; ip addr add 169.254.1.1/32 dev eth0`,
      'echo 1 >/proc/sys/net/ipv4/conf/eth0/arp_notify; echo 1 >/proc/sys/net/ipv4/ip_forward',
      'echo 1 >/proc/sys/net/ipv4/conf/eth0/proxy_arp',
    ]
    const outcome = await liar(claims.join(' && '))
    expect([outcome.exitCode, outcome.stderr]).toEqual([0, ''])
    // The root user of the box can do this over netlink. The ip of busybox wants a packet socket for it, which the box does not get.
    const { networkNamespace, userNamespace } = places.liar
    const inBox = ['nsenter', `--user=${userNamespace}`, `--net=${networkNamespace}`, 'ip', 'link', 'set', 'eth0'].join(
      ' ',
    )
    for (const change of ['down', 'address 06:62:78:00:00:99', 'up']) execSync(`${inBox} ${change}`)
    expect(await udp(places.mate, addresses.victim, BOX_PORT, ANSWER_MS)).toBe('victim')
    expect(await udp(places.victim, addresses.mate, BOX_PORT, ANSWER_MS)).toBe('mate')
    expect(await tcp(null, addresses.victim, BOX_PORT)).toBe('victim')
    expect(servers[0]?.lines.at(-1)).toBe(`udp ${addresses.victim}`)
  })

  test('has no raw access to its link, with which it could forge frames', async () => {
    const attempt = 'for kind in arping udhcpc; do $kind -I eth0 -c1 -w1 169.254.1.1 2>&1; done'
    expect((await liar(attempt)).stdout).toMatch(/Operation not permitted/)
  })
})
