import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { build } from 'esbuild'
import { buildCli } from '../../infra/cli-bundle.ts'
import { ROOT } from '../../infra/commands.ts'
import { type BenchContext, boxPath, createBox, deleteBox, shellIn } from './context.ts'
import { percentile, report, summary, timeEach, timeOnce } from './figures.ts'

/** Measures the CLI as a whole process, against docker's own client with the same work. */
export async function benchCli(context: BenchContext): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-bench-cli-'))
  const program = await buildCli(directory)
  const { service, docker, client } = context
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    DOCKER_HOST: docker.host,
    BOXYARD_URL: service.url,
    BOXYARD_TOKEN: service.adminToken,
    BOXYARD_PROJECT: 'bench',
  }
  const run = (command: string, args: readonly string[]): Promise<void> => runToEnd(command, args, { env, directory })
  const lab: Lab = {
    ...context,
    directory,
    ours: (...args) => run(process.execPath, [program, ...args]),
    node: (path) => run(process.execPath, [path]),
    plain: () => run(process.execPath, ['-e', '0']),
    theirs: (...args) => run('docker', args),
    watch: (...args) => spawn(process.execPath, [program, ...args], { env, cwd: directory }),
  }
  try {
    await createBox(client, NAME)
    await docker.createAndStart(NAME)
    await measureExec(lab, await measureStart(lab))
    await measureCopies(lab)
    await measureSync(lab)
    await docker.remove(NAME)
    await deleteBox(client, NAME)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Lab extends BenchContext {
  directory: string
  /** Runs the Boxyard CLI to its end. */
  ours(...args: string[]): Promise<void>
  /** Runs another Node.js program to its end. */
  node(program: string): Promise<void>
  /** Runs an empty Node.js program. */
  plain(): Promise<void>
  /** Runs the docker CLI to its end. */
  theirs(...args: string[]): Promise<void>
  watch(...args: string[]): ReturnType<typeof spawn>
}

async function measureStart({ ours, theirs, plain }: Lab): Promise<number[]> {
  const [mine, other] = await inTurns(
    ROUNDS,
    () => ours('--version'),
    () => theirs('--version'),
  )
  const p50 = percentile(mine, 0.5)
  report('cli: start (--version)', beside(mine, other), '≤ 80 ms', p50 <= 80)
  report('  of that Node.js alone (-e 0)', summary(await timeEach(ROUNDS, plain)), 'told', true)
  return mine
}

async function measureExec(lab: Lab, starts: readonly number[]): Promise<void> {
  const { ours, theirs, client } = lab
  const call = async (): Promise<void> => {
    const { body, text } = await client.post(`${boxPath(NAME)}/exec`, { command: ['true'] })
    if (body.exit_code !== 0) throw new Error(text)
  }
  await timeEach(WARM_UPS, call)
  const [mine, other] = await inTurns(
    ROUNDS,
    () => ours('exec', NAME, 'true'),
    () => theirs('exec', NAME, 'true'),
  )
  const calls = await timeEach(ROUNDS, call)
  report('cli: exec box true, as a whole', beside(mine, other), 'told', true)
  report('  the same HTTP call', summary(calls), 'told', true)
  const above = percentile(mine, 0.5) - percentile(calls, 0.5) - percentile(starts, 0.5)
  report('  above the HTTP call and the start', `${above.toFixed(1)} ms`, '≤ 15 ms', above <= 15)
  const least = await writeLeastProgram(lab)
  const floor = percentile(await timeEach(ROUNDS, () => lab.node(least)), 0.5) - percentile(calls, 0.5)
  report('  the same by a program of ws alone', `${(floor - percentile(starts, 0.5)).toFixed(1)} ms`, 'told', true)
}

/**
 * Writes the shortest program that streams a command with the WebSocket package of the CLI, with its compiled code cached. Returns its
 * path.
 */
async function writeLeastProgram({ service, directory }: Lab): Promise<string> {
  const path = join(directory, 'least.cjs')
  const url = `${service.url.replace('http', 'ws')}${boxPath(NAME)}/exec/ws?command=true`
  const options = JSON.stringify({
    headers: { authorization: `Bearer ${service.adminToken}` },
    perMessageDeflate: false,
  })
  await build({
    stdin: {
      contents: `const { WebSocket } = require('ws')
        const socket = new WebSocket('${url}', ['v5.channel.k8s.io'], ${options})
        socket.on('message', (frame) => frame[0] === 3 && process.exit(0))`,
      resolveDir: ROOT,
    },
    ...{
      bundle: true,
      minify: true,
      platform: 'node',
      outfile: join(directory, 'least-bundle.cjs'),
      logLevel: 'error',
    },
  })
  const cache = JSON.stringify(join(directory, 'least-cache'))
  writeFileSync(path, `require('node:module').enableCompileCache(${cache}); require('./least-bundle.cjs')`)
  return path
}

async function measureCopies(lab: Lab): Promise<void> {
  const { ours, theirs, directory, client } = lab
  const file = join(directory, 'gib')
  await writeGib(file)
  const into = await inTurns(
    COPIES,
    () => ours('cp', file, `${NAME}:/root/gib`),
    () => theirs('cp', file, `${NAME}:/gib`),
    writeBack,
  )
  reportRates('cli: cp of 1 GiB into a box', ...into)
  const back = join(directory, 'back')
  const out = await inTurns(
    COPIES,
    () => ours('cp', `${NAME}:/root/gib`, back),
    () => theirs('cp', `${NAME}:/gib`, back),
    // Replacing a file waits for the disk, with either client. ext4 writes the new file first.
    () => {
      rmSync(back, { force: true })
      writeBack()
    },
  )
  reportRates('cli: cp of 1 GiB out of a box', ...out)
  await shellIn(client, NAME, 'rm /root/gib')
  rmSync(file)
  rmSync(back)
}

async function measureSync({ ours, theirs, watch, directory }: Lab): Promise<void> {
  const tree = join(directory, 'tree')
  for (let i = 0; i < FILES; i++) {
    const place = join(tree, String(i % DIRECTORIES))
    if (i < DIRECTORIES) mkdirSync(place, { recursive: true })
    writeFileSync(join(place, `file-${i}`), randomBytes(FILE_BYTES))
  }
  const change = (): void => writeFileSync(join(tree, '7/file-7'), randomBytes(FILE_BYTES))
  report(
    'cli: first sync of 10,000 files',
    `${(await timeOnce(() => ours('sync', tree, `${NAME}:/srv/tree`))).toFixed(0)} ms`,
    'told',
    true,
  )
  const [mine, other] = await inTurns(
    SYNCS,
    () => {
      change()
      return ours('sync', tree, `${NAME}:/srv/tree`)
    },
    () => theirs('cp', tree, `${NAME}:/tree`),
  )
  const measured = `${beside(mine, other)}, which copies all`
  report('cli: sync of one change in 10,000 files', measured, '≤ 300 ms', percentile(mine, 0.5) <= 300)
  const watching = watch('sync', tree, `${NAME}:/srv/tree`, '--watch')
  const told = createLines(watching)
  await told.until(/Watching/)
  const rounds = await timeEach(SYNCS, async () => {
    const sent = told.until(/^sent /)
    change()
    await sent
  })
  watching.kill('SIGINT')
  report('  by sync --watch', summary(rounds), '≤ 300 ms', percentile(rounds, 0.5) <= 300)
}

/** Waits for lines of stderr that arrive after the call. */
function createLines(child: ReturnType<typeof spawn>): { until(pattern: RegExp): Promise<void> } {
  let look: (line: string) => void = () => undefined
  let fail: (error: Error) => void = () => undefined
  child.once('exit', () => fail(new Error('sync --watch has ended')))
  child.stderr?.on('data', (text: Buffer) => {
    for (const line of text.toString().split('\n')) look(line)
  })
  return {
    until: (pattern) =>
      new Promise((resolve, reject) => {
        fail = reject
        look = (line) => {
          if (pattern.test(line)) resolve()
        }
      }),
  }
}

/** Times both alternately, so that other load of the machine affects both. */
async function inTurns(
  rounds: number,
  ours: () => Promise<void>,
  theirs: () => Promise<void>,
  before: () => void = () => undefined,
): Promise<[ours: number[], theirs: number[]]> {
  const [mine, other]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    before()
    mine.push(await timeOnce(ours))
    before()
    other.push(await timeOnce(theirs))
  }
  return [mine, other]
}

function beside(ours: readonly number[], theirs: readonly number[]): string {
  const ratio = (share: number): string => (percentile(ours, share) / percentile(theirs, share)).toFixed(2)
  return `${summary(ours)}; docker ${summary(theirs)}: ${ratio(0.5)}× / ${ratio(0.95)}×`
}

function reportRates(what: string, ours: readonly number[], theirs: readonly number[]): void {
  const rate = GIB_BYTES / 1000 / percentile(ours, 0.5)
  report(what, `${rate.toFixed(0)} MB/s, ${beside(ours, theirs)}`, '≥ 400 MB/s', rate >= 400)
}

/** Waits until the disk has written all of the previous copies. */
function writeBack(): void {
  // Syncs twice, because the first sync writes a box's data to its pool's file.
  for (let i = 0; i < 2; i++) execFileSync('sync')
}

async function writeGib(path: string): Promise<void> {
  const block = randomBytes(1024 ** 2)
  const file = createWriteStream(path)
  for (let i = 0; i < GIB_BYTES / block.length; i++)
    if (!file.write(block)) await new Promise<void>((resolve) => file.once('drain', () => resolve()))
  file.end()
  await finished(file)
}

function runToEnd(
  command: string,
  args: readonly string[],
  { env, directory }: { env: NodeJS.ProcessEnv; directory: string },
): Promise<void> {
  const child = spawn(command, args, { env, cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`${command} ${args.join(' ')} ended with ${code}: ${errors}`))
    })
  })
}

const NAME = 'cli'
const ROUNDS = 30
const WARM_UPS = 5
const COPIES = 10
const SYNCS = 15
const FILES = 10_000
const DIRECTORIES = 100
const FILE_BYTES = 1024
const GIB_BYTES = 1024 ** 3
