import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { neighbourTable, readTables } from '../../../agent/drivers/host/network-tables.ts'
import type { BoxExit } from '../../../agent/ports/boxes/runtime.ts'
import { type Attack, attack, startWithPerl } from '../../helpers/boxes/hostile.ts'
import { execute, type OciLab, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { initOf } from '../../helpers/volumes/lab.ts'

const UNSHARE = process.arch === 'arm64' ? 97 : 272
const CLONE_NEWNET = 0x4000_0000

/** Perl that sends to `count` addresses, `perSocket` of them from one socket. */
const sendTo = (count: number, perSocket: number): string => `
  use Socket;
  for my $n (0 .. ${count - 1}) {
    if ($n % ${perSocket} == 0) { socket(our $s, PF_INET, SOCK_DGRAM, 0) or die $! }
    our $s; send($s, 'x', 0x40, sockaddr_in(9, pack('CCCC', 10, 1 + ($n >> 16), ($n >> 8) & 255, $n & 255)));
  }`

/** More than a box may have, and far below the limit of the host. */
const NEIGHBOURS = Math.floor(readTables().neighboursMax / 4) + 150

/** Perl that adds neighbours that never answer, in a new namespace, and then runs `last`. The kernel asks for each for a minute. */
const neighbours = (last: string): string => `
  syscall(${UNSHARE}, ${CLONE_NEWNET}) == 0 or die $!;
  system('ip link set lo up && ip link add v0 type veth && ip link set v0 up && ip link set veth0 up && ip addr add 10.0.0.1/8 dev v0') == 0 or die;
  system('unshare -pf --mount-proc sh -c "echo 60 >/proc/sys/net/ipv4/neigh/v0/mcast_solicit"') == 0 or die;
  ${last}`
const KEPT_UP = `print "ready\\n"; while (1) { ${sendTo(NEIGHBOURS, 100)} select(undef, undef, undef, 0.5) }`
const LEFT_MOUNTED = `
  open(my $f, '>', '/tmp/held'); system('mount --bind /proc/self/ns/net /tmp/held') == 0 or die; ${sendTo(NEIGHBOURS, 100)} print "ready\\n"; exit`

describe('a box with nesting that fills a table which the host shares', () => {
  let lab: OciLab
  const exits = new Map<string, BoxExit>()
  const attacks: Attack[] = []

  beforeAll(async () => {
    lab = await openOciLab()
    lab.runtime.onExit((exit) => exits.set(exit.id, exit))
    await lab.runtime.start(lab.spec('box_calm', { nesting: true }))
  })

  afterAll(async () => {
    for (const { end } of attacks) await end().catch(() => undefined)
    await lab.close()
    await untilGone(lab)
  })

  const whyOf = async (id: string): Promise<string | undefined> => {
    await untilTrue(() => exits.has(id))
    expect(exits.get(id)).toMatchObject({ outOfMemory: false, isLost: false })
    await lab.runtime.stop(id, { graceMs: 0 })
    return exits.get(id)?.why
  }

  test.each([
    ['by a program that runs', 'running', KEPT_UP],
    ['in a namespace that it left mounted', 'mounted', LEFT_MOUNTED],
  ])('with neighbours, %s, is ended before the host finds none', async (_how, name, last) => {
    const spec = lab.spec(`box_${name}`, { nesting: true })
    await startWithPerl(lab.runtime, spec)
    const before = neighbourTable('ipv4').entries
    attacks.push(await attack(lab.runtime, spec.id, neighbours(last)))
    expect(await whyOf(spec.id)).toMatch(/held \d+ neighbours/)
    expect(exits.has('box_calm')).toBe(false)
    const endedAt = performance.now()
    await untilTrue(() => neighbourTable('ipv4').entries < before + NEIGHBOURS / 2)
    // Long before the kernel gives up on them.
    expect(performance.now() - endedAt).toBeLessThan(30_000)
  })

  test('with tracked connections, for which the kernel charges nobody, is ended', async () => {
    const spec = lab.spec('box_connections', { nesting: true })
    await startWithPerl(lab.runtime, spec)
    const pid = await initOf(lab, spec.id)
    const inBox = (...command: string[]): unknown => execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, ...command])
    inBox('ip', 'route', 'add', 'local', '10.0.0.0/8', 'dev', 'lo')
    inBox('nft', 'table ip t { chain c { type filter hook input priority 0; ct state new counter; }; }')
    const count = Math.floor(readTables().connectionsMax / 4) + 1_000
    attacks.push(await attack(lab.runtime, spec.id, `print "ready\\n"; ${sendTo(count, 60_000)} sleep 600`))
    expect(await whyOf(spec.id)).toMatch(/held \d+ tracked connections/)
    expect((await execute(lab.runtime, 'box_calm', 'echo on')).stdout).toBe('on\n')
  })
})
