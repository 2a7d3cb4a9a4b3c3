import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startWithPerl } from '../../helpers/boxes/hostile.ts'
import { execute, type OciLab, openOciLab, UNBOUNDED, untilGone } from '../../helpers/boxes/oci-lab.ts'

const SECONDS = 2
const LEAST_MBPS = 8
/** Allowance while the receiver listens, plus the burst, plus a margin. */
const MOST_BYTES = (LEAST_MBPS * 125_000 * (SECONDS + 2) + 512 * 1024) * 1.3
const MOST_PACKETS = (LEAST_MBPS * 200 * (SECONDS + 2) + 320) * 1.3

describe('the network of a box', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
    for (const id of ['box_one', 'box_two']) await startWithPerl(lab.runtime, lab.spec(id))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  const perl = async (id: string, program: string): Promise<number> => {
    const { stdout, stderr } = await execute(lab.runtime, id, [
      'env',
      'LC_ALL=C',
      'perl',
      '-e',
      `use Socket; $| = 1; ${program}`,
    ])
    return stderr === '' ? Number(stdout) : Promise.reject(new Error(stderr))
  }
  let port = 7000
  /** Sends for `SECONDS` as fast as possible. Returns how many bytes, or packets, the other box received. */
  const exchange = async (kind: 'bytes' | 'packets', from: string, to: string): Promise<number> => {
    port++
    const type = kind === 'bytes' ? 'SOCK_STREAM' : 'SOCK_DGRAM'
    const address = await lab.network.addressOf(to)
    const receive =
      kind === 'bytes'
        ? 'listen($s, 1); accept(my $c, $s); while (sysread($c, my $d, 65536)) { $got += length $d }'
        : 'while (defined recv($s, my $d, 100, 0)) { last if $d eq "end"; $got++ }'
    const got = perl(
      to,
      `my $got = 0; $SIG{ALRM} = sub { print $got; exit }; alarm ${SECONDS + 2};
      socket(my $s, PF_INET, ${type}, 0); bind($s, sockaddr_in(${port}, INADDR_ANY)) or die $!; ${receive} print $got`,
    )
    await perl(
      from,
      `my $to = sockaddr_in(${port}, inet_aton('${address}')); my $end = time + ${SECONDS}; my $s;
      for (1 .. 500) { socket($s, PF_INET, ${type}, 0); last if connect($s, $to); select(undef, undef, undef, 0.01) }
      $SIG{PIPE} = 'IGNORE'; $SIG{ALRM} = sub { exit }; alarm ${SECONDS + 1};
      my $piece = 'x' x ${kind === 'bytes' ? 65_536 : 20};
      while (time < $end) { send($s, $piece, 0) } for (1 .. 50) { send($s, 'end', 0); select(undef, undef, undef, 0.02) }`,
    )
    return got
  }
  const limit = (id: string, networkMbps: number | null): Promise<void> =>
    lab.runtime.resize(id, { cpus: 2, ramMb: 256, shmMb: 128, ...UNBOUNDED, networkMbps })

  test('is without a bound where none is given', async () => {
    expect(await exchange('bytes', 'box_one', 'box_two')).toBeGreaterThan(2 * MOST_BYTES)
    expect(await exchange('packets', 'box_one', 'box_two')).toBeGreaterThan(MOST_PACKETS)
  })

  test.each(['box_one', 'box_two'])('is bounded at once by that of %s, in bytes and packets', async (limited) => {
    await limit(limited, LEAST_MBPS)
    const bytes = await exchange('bytes', 'box_one', 'box_two')
    expect(bytes).toBeGreaterThan(MOST_BYTES / 10)
    expect(bytes).toBeLessThan(MOST_BYTES)
    expect(await exchange('packets', 'box_one', 'box_two')).toBeLessThan(MOST_PACKETS)
    await limit(limited, null)
  })

  test('is bounded again once a restarted agent knows its limit, and free without', async () => {
    await lab.reopen()
    await limit('box_one', LEAST_MBPS)
    expect(await exchange('bytes', 'box_one', 'box_two')).toBeLessThan(MOST_BYTES)
    await limit('box_one', null)
    expect(await exchange('bytes', 'box_one', 'box_two')).toBeGreaterThan(2 * MOST_BYTES)
  })

  test('is bounded from the start', async () => {
    const spec = lab.spec('box_three', { networkMbps: LEAST_MBPS })
    await startWithPerl(lab.runtime, spec)
    expect(await exchange('bytes', 'box_three', 'box_two')).toBeLessThan(MOST_BYTES)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })
})
