import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildCli } from '../../infra/cli-bundle.ts'
import { createClient } from '../helpers/front/client.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { BENCH_SETTINGS, boxPath, createBox, deleteBox } from './context.ts'
import { percentile, rateEach, ratesText, report, summary, timeEach } from './figures.ts'

/**
 * Measures OpenSSH against a box: a command from start to end against the same over HTTP, small files, and one stream in each direction.
 * Starts its own service.
 */
export async function benchSsh(): Promise<void> {
  const service = await startService({ settings: BENCH_SETTINGS })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  const home = mkdtempSync(join(tmpdir(), 'boxyard-bench-ssh-'))
  try {
    await createBox(client, NAME)
    const user = await installSsh(service, home)
    const plain = await timeEach(COMMANDS, async () => {
      await client.post(`${boxPath(NAME)}/exec`, { command: ['true'] })
    })
    report('exec true over HTTP, for comparison', summary(plain), '', true)
    await user.ssh('true')
    const connected = await timeEach(COMMANDS, () => user.ssh('true'))
    report('ssh box true, from start to end', summary(connected), '≤ 150 ms', percentile(connected, 0.5) <= 150)
    const small = join(home, 'small')
    mkdirSync(small)
    for (let number = 0; number < SMALL_FILES; number++) writeFileSync(join(small, `${number}`), randomBytes(2000))
    const copied = await timeEach(ROUNDS, (round) => user.scp(small, `/srv/small-${round}`))
    report(`scp of ${SMALL_FILES} small files`, summary(copied), '≤ 1.5 s', percentile(copied, 0.5) <= 1500)
    // Uses dd, because busybox `head -c` reads byte by byte. It needs a whole CPU for less than 400 MB/s.
    const down = await rateEach(ROUNDS, BYTES, () =>
      user.ssh(`dd if=/dev/zero bs=64k count=${BYTES / 65_536} 2> /dev/null`),
    )
    report('one stream of ssh, from the box', ratesText(down), '≥ 200 MB/s', percentile(down, 0.5) >= LEAST_RATE)
    const up = await rateEach(ROUNDS, BYTES, () => user.ssh('cat > /dev/null', BYTES))
    report('one stream of ssh, to the box', ratesText(up), '≥ 200 MB/s', percentile(up, 0.5) >= LEAST_RATE)
    await deleteBox(client, NAME)
  } finally {
    await service.close()
    rmSync(home, { recursive: true, force: true })
  }
}

/** Installs the configuration in a separate home directory. Returns functions that run ssh and scp, and throw unless these exit with 0. */
async function installSsh(
  { url, adminToken }: TestService,
  home: string,
): Promise<{ ssh(line: string, inputBytes?: number): Promise<void>; scp(from: string, to: string): Promise<void> }> {
  const program = await buildCli(home)
  const env = { PATH: process.env['PATH'], HOME: home, BOXYARD_URL: url, BOXYARD_TOKEN: adminToken }
  // Neither input nor output passes through this process, because it is not the subject of the measurement.
  const run = async (words: readonly string[], inputBytes = 0): Promise<void> => {
    const line = inputBytes === 0 ? 'exec "$@" < /dev/null' : `head -c ${inputBytes} /dev/zero | "$@"`
    const child = spawn('sh', ['-c', line, 'sh', ...words], { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}`)
  }
  await run([process.execPath, program, 'ssh-config', '--install'])
  const options = ['-F', join(home, '.ssh/config'), '-o', 'BatchMode=yes']
  const host = `${NAME}.bench.boxyard`
  return {
    ssh: (line, inputBytes) => run(['ssh', ...options, host, line], inputBytes),
    scp: (from, to) => run(['scp', '-qr', ...options, from, `${host}:${to}`]),
  }
}

const NAME = 'ssh'
const COMMANDS = 40
const ROUNDS = 3
const SMALL_FILES = 300
const LEAST_RATE = 200
const BYTES = 512 * 1024 ** 2
