import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { buildCli } from '../../infra/cli-bundle.ts'
import { createClient } from '../helpers/front/client.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { BENCH_SETTINGS, boxPath, createBox, deleteBox } from './context.ts'
import { percentile, rateEach, ratesText, report, summary, timeEach } from './figures.ts'

/** Measures OpenSSH against a box: a command from start to end beside the same over HTTP, and one stream each way. Starts a service of its own. */
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
    const down = await rateEach(ROUNDS, BYTES, () => user.ssh(`head -c ${BYTES} /dev/zero`))
    report('one stream of ssh, from the box', ratesText(down), '≥ 200 MB/s', percentile(down, 0.5) >= LEAST_RATE)
    const up = await rateEach(ROUNDS, BYTES, () => user.ssh('cat > /dev/null', zeros()))
    report('one stream of ssh, to the box', ratesText(up), '≥ 200 MB/s', percentile(up, 0.5) >= LEAST_RATE)
    await deleteBox(client, NAME)
  } finally {
    await service.close()
    rmSync(home, { recursive: true, force: true })
  }
}

/** Installs the configuration for a home of its own, and returns what runs ssh with it; throws unless it exits with 0. */
async function installSsh(
  { url, adminToken }: TestService,
  home: string,
): Promise<{ ssh(line: string, input?: Readable): Promise<void> }> {
  const program = await buildCli(home)
  const env = { PATH: process.env['PATH'], HOME: home, BOXYARD_URL: url, BOXYARD_TOKEN: adminToken }
  const run = async (name: string, args: readonly string[], input?: Readable): Promise<void> => {
    const child = spawn(name, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = once(child, 'close')
    child.stdin.on('error', () => undefined)
    if (input === undefined) child.stdin.end()
    else input.pipe(child.stdin)
    await finished(child.stdout.resume())
    const [code] = (await ended) as [number | null]
    if (code !== 0) throw new Error(`${name} ${args.join(' ')} ended with ${code}`)
  }
  await run(process.execPath, [program, 'ssh-config', '--install'])
  const config = ['-F', join(home, '.ssh/config'), '-o', 'BatchMode=yes']
  return { ssh: (line, input) => run('ssh', [...config, `${NAME}.bench.boxyard`, line], input) }
}

function zeros(): Readable {
  const piece = Buffer.alloc(PIECE_BYTES)
  return Readable.from(Array.from({ length: BYTES / PIECE_BYTES }, () => piece))
}

const NAME = 'ssh'
const COMMANDS = 40
const ROUNDS = 3
const LEAST_RATE = 200
const PIECE_BYTES = 256 * 1024
const BYTES = 512 * 1024 ** 2
