import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findLeftovers, findTraces } from '../tests/helpers/leftovers.ts'
import { draw, drawsAll } from '../tests/helpers/sample.ts'
import { findAcmeServer } from './acme-server/program.ts'
import { findAwsEmulator } from './aws-emulator/program.ts'
import { findClientGenerators } from './client-generators/program.ts'
import { findTestCluster } from './cluster/test-cluster.ts'
import { ROOT } from './commands.ts'
import { type Counts, type JestRun, runJest } from './jest-run.ts'
import { findLambdaRuntime } from './lambda-runtime/program.ts'
import { findObjectStore } from './object-store/program.ts'
import { findOpenApiGenerator } from './openapi-generator/program.ts'
import { findSdkRuntimes } from './sdk-runtimes/program.ts'
import { ensureConsole } from './web/build.ts'

/** Files of `real` that also run with pods for boxes: some of them, drawn by the tree; all in `all`. */
const REPEATED_ON_CLUSTER = inFolder('tests/e2e', [
  'deployment',
  'model',
  'services/services',
  'services/deploys',
  'edge/ports',
  'edge/urls',
  'health/metrics',
  'boxes/disk',
  'boxes/idle',
  'boxes/faults',
])
/** The same of the contract of a runtime, beside its main file. */
const RUNTIME_ON_CLUSTER = inFolder('tests/contract/boxes', [
  'runtime-attach',
  'runtime-connect',
  'runtime-exec',
  'runtime-freeze',
  'runtime-hold',
  'runtime-limits',
  'runtime-mounts',
  'runtime-resize',
  'runtime-sessions',
  'runtime-terminal.test',
  'runtime-terminals',
])
/** Files that kill the agent at every kind of step: some of them, drawn by the tree; all in `all`. */
const KILLED_AT_STEPS = inFolder('tests/e2e', [
  'backups/faults',
  'bases/faults',
  'boxes/faults',
  'edge/faults',
  'pool/device-faults',
  'services/deploy-faults',
  'services/faults',
  'snapshots/faults',
  'volumes/faults',
])
/** Files of `real` that run with pods for boxes only in `everywhere`. */
const REST = inFolder('tests/e2e', [
  'access/admission',
  'health/failures',
  'pool/full-disk',
  'exec/shim',
  'http/large-bodies',
  'boxes/lost-data',
])

/** An emulated machine beside other work may take minutes for what takes seconds elsewhere. */
const MACHINE = { workers: 1, env: { TEST_FILE_MINUTES: '60' }, minutes: 240 }

/** Files with boxes wait more than they compute, so more of them run at a time than there are processors. */
const SUITES: Record<string, Suite> = {
  unit: { paths: ['tests/architecture/', 'tests/unit/'], workers: 3 },
  // With backups to a real S3 server, certificates of a real ACME server, the functions as AWS runs and deploys them, generated
  // clients, and the SDK on other runtimes.
  real: {
    paths: ['tests/contract/', 'tests/integration/', 'tests/e2e/'],
    drawn: [{ from: KILLED_AT_STEPS, count: 3 }],
    workers: 5,
    peers: [
      ...(['object-store', 'acme-server', 'lambda-runtime', 'aws-emulator'] as const),
      ...(['client-generators', 'openapi-generator', 'sdk-runtimes'] as const),
    ],
  },
  // The suites that every runtime has to pass run here again, with pods for boxes.
  cluster: {
    paths: ['tests/cluster/', 'tests/contract/boxes/runtime.test', 'tests/e2e/standalone'],
    drawn: [
      { from: REPEATED_ON_CLUSTER, count: 1 },
      { from: RUNTIME_ON_CLUSTER, count: 2 },
    ],
    workers: 8,
    env: { TEST_RUNTIME: 'kubernetes' },
    needsCluster: true,
  },
  // Fleets of several services each: a host has numbers for twelve instances, and each has boxes.
  fleet: { paths: ['tests/fleet/'], workers: 2, env: { TEST_RUNTIME: 'kubernetes' }, needsCluster: true },
  // A Debian 13 with systemd, emulated, with the package of this tree.
  vm: { ...MACHINE, paths: ['tests/vm/'] },
  // Part of it: an installation, and a power cut under load. It keeps one processor busy, and shares nothing with the other suites.
  machine: { ...MACHINE, paths: ['tests/vm/install', 'tests/vm/power'], lane: 'machine' },
  s3: { paths: [], workers: 1, peers: ['object-store'] },
  acme: { paths: [], workers: 1, peers: ['acme-server'] },
  lambda: { paths: [], workers: 1, peers: ['lambda-runtime', 'object-store'] },
  aws: { paths: [], workers: 1, peers: ['aws-emulator'] },
  clients: { paths: [], workers: 1, peers: ['client-generators', 'openapi-generator'] },
  runtimes: { paths: [], workers: 1, peers: ['sdk-runtimes'] },
  everywhere: { paths: REST, workers: 2, env: { TEST_RUNTIME: 'kubernetes' }, needsCluster: true },
  faults: { paths: ['tests/e2e/.*faults'], workers: 1, env: { TEST_DRAW: 'all' } },
}

interface Suite extends JestRun {
  /** Files of which each tree draws some; the others do not run, even where `paths` has them. */
  drawn?: readonly { from: readonly string[]; count: number }[]
  /** Runs on a real Kubernetes. */
  needsCluster?: boolean
  /** Ends the run if it takes longer; default: SUITE_MINUTES. */
  minutes?: number
  /** Peers that are built or installed once; each adds the tests in its folder. */
  peers?: readonly (keyof typeof PEERS)[]
}

/**
 * `npm test` runs the suites `unit` and `real`, beside them `machine`, and then `cluster` and `fleet`, with a draw of the tests that repeat each other; `npm test -- all` (`npm run test:all`)
 * runs those and `everywhere`, with nothing left out; `npm test -- SUITE…` runs some suites; `npm test -- cluster PATH…` runs paths with
 * pods for boxes; other arguments are jest's.
 * Without Go and KUBECONFIG `cluster` and `fleet` do not run, and tests whose peer cannot be built or installed do not; in CI that counts as failed.
 * A test that is skipped, a test file that does not load, a process that does not end and anything left behind count as failed.
 * Files that fail run once more, alone, unless they are many; those that then pass are named as `UNSTEADY`, to be mended.
 */
async function main(args: readonly string[]): Promise<void> {
  const suites = suitesOf(args)
  rmSync(SUMMARY, { force: true })
  ensureConsole()
  const beside = suites.filter(({ lane }) => lane).map((suite) => runBeside(suite))
  const inTurn = suites.filter(({ lane }) => lane === undefined)
  const first = await Promise.all([runInTurn(inTurn.filter(({ needsCluster }) => needsCluster !== true)), ...beside])
  // Kubernetes gives up on what a machine that has other work does too late.
  const last = await runInTurn(inTurn.filter(({ needsCluster }) => needsCluster === true))
  const total = addCounts([...first, last])
  if (total.passed + total.failed === 0) {
    process.stdout.write('No test ran.\n')
    total.failed = 1
  }
  writeFileSync(SUMMARY, `${total.passed} ${total.failed}\n`)
  process.stdout.write(`tests: ${total.passed} passed, ${total.failed} failed\n`)
  process.exitCode = total.failed === 0 ? 0 : 1
}

function suitesOf(args: readonly string[]): Suite[] {
  const isAll = args.length === 1 && args[0] === 'all'
  if (isAll) process.env['TEST_DRAW'] = 'all'
  const names = isAll ? ALL_SUITES : args.length === 0 ? DEFAULT_SUITES : args
  const suites = names.flatMap((name) => SUITES[name] ?? []).map(withDraws)
  if (suites.length === names.length) return suites
  const [first, ...paths] = args
  if (first === 'cluster' && SUITES['cluster']) return [{ ...SUITES['cluster'], paths, drawn: [] }]
  return [{ ...(args.some((path) => path.startsWith('tests/vm')) ? MACHINE : { workers: 1 }), paths: args }]
}

function withDraws(suite: Suite): Suite {
  const paths = [...suite.paths]
  const ignored: string[] = []
  for (const { from, count } of suite.drawn ?? []) {
    const drawn = draw(from, count)
    paths.push(...drawn)
    ignored.push(...from.filter((path) => !drawn.includes(path)))
  }
  return { ...suite, paths, ignored }
}

async function runInTurn(suites: readonly Suite[]): Promise<Counts> {
  const all: Counts[] = []
  for (const suite of suites) {
    const before = findTraces()
    all.push(withLeftovers(await runSuite(suite), await findLeftovers(before)))
  }
  return addCounts(all)
}

/** Runs a suite in a lane of its own, while others run. What it leaves is looked for where others leave nothing. */
async function runBeside(suite: Suite): Promise<Counts> {
  const directory = mkdtempSync(join(tmpdir(), 'lane-'))
  try {
    const counts = await runSuite({ ...suite, env: { ...suite.env, TMPDIR: directory } })
    return withLeftovers(
      counts,
      readdirSync(directory).filter((name) => name.startsWith('boxyard-')),
    )
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function runSuite(suite: Suite): Promise<Counts> {
  mkdirSync(join(ROOT, '.build'), { recursive: true })
  const limit = limitDuration(suite)
  const counts = await (suite.needsCluster ? runOnCluster : runWithPeers)(suite)
  clearTimeout(limit)
  return counts
}

function withLeftovers(counts: Counts, leftovers: readonly string[]): Counts {
  if (leftovers.length === 0) return counts
  process.stdout.write(`The tests left ${leftovers.length} things on this machine:\n`)
  for (const line of leftovers.slice(0, SHOWN_LEFTOVERS)) process.stdout.write(`  ${line}\n`)
  return { ...counts, failed: counts.failed + 1 }
}

function addCounts(all: readonly Counts[]): Counts {
  const sum = (name: keyof Counts): number => all.reduce((total, counts) => total + counts[name], 0)
  return { passed: sum('passed'), failed: sum('failed') }
}

/** Ends this process if a suite does not end, after printing what runs; a file that hangs is ended before that (infra/jest-watch.mjs). */
function limitDuration({ minutes: most = SUITE_MINUTES }: Suite): NodeJS.Timeout {
  const minutes = most * (drawsAll() ? 4 : 1)
  return setTimeout(() => {
    process.stdout.write(`The suite did not end within ${minutes} minutes. These processes run:\n`)
    spawnSync('ps', ['-e', '--forest', '-o', 'pid,stat,wchan:24,etimes,args'], { stdio: 'inherit' })
    process.exit(1)
  }, minutes * 60_000)
}

async function runOnCluster(suite: Suite): Promise<Counts> {
  const cluster = findTestCluster((text) => process.stdout.write(`${text}\n`))
  if ('obstacle' in cluster) {
    process.stdout.write(`The suite cluster does not run: ${cluster.obstacle}.\n`)
    return { passed: 0, failed: process.env['CI'] ? 1 : 0 }
  }
  const end = (): void => void cluster.close().finally(() => process.exit(1))
  for (const signal of ENDING_SIGNALS) process.once(signal, end)
  try {
    return await runTests({ ...suite, env: { ...suite.env, ...(await cluster.start()) } })
  } finally {
    for (const signal of ENDING_SIGNALS) process.removeListener(signal, end)
    await cluster.close()
  }
}

/** Runs a suite without the tests of a peer that cannot be had; in CI that counts as failed. */
async function runWithPeers(suite: Suite): Promise<Counts> {
  const paths = [...suite.paths]
  const env = { ...suite.env }
  let missing = 0
  for (const name of suite.peers ?? []) {
    const peer = PEERS[name]
    const program = await peer.find((text) => process.stdout.write(`${text}\n`))
    if (typeof program === 'string') {
      paths.push(peer.path)
      env[peer.variable] = program
      continue
    }
    process.stdout.write(`The tests in ${peer.path} do not run: ${program.obstacle}.\n`)
    missing += 1
  }
  const counts = paths.length === 0 ? { passed: 0, failed: 0 } : await runTests({ ...suite, paths, env })
  return { ...counts, failed: counts.failed + (process.env['CI'] ? missing : 0) }
}

async function runTests(suite: Suite): Promise<Counts> {
  const first = await runJest(suite)
  const files = first.failedFiles
  if (files.length === 0 || files.length > RERUN_MAX || first.isIncomplete) return first
  process.stdout.write(`Running again, alone: ${files.join(' ')}\n`)
  const second = await runJest({ ...suite, paths: files, workers: 1 })
  const unsteady = files.filter((file) => !second.failedFiles.includes(file))
  for (const file of unsteady) process.stdout.write(`UNSTEADY ${file} failed at first, and passed alone.\n`)
  return { passed: first.passed - first.passedInFailedFiles + second.passed, failed: second.failed }
}

function inFolder(folder: string, names: readonly string[]): string[] {
  return names.map((name) => `${folder}/${name}`)
}

const DEFAULT_SUITES = ['unit', 'real', 'cluster', 'fleet', 'machine']
const ALL_SUITES = [...DEFAULT_SUITES, 'everywhere']
const PEERS = {
  'object-store': { find: findObjectStore, variable: 'TEST_OBJECT_STORE', path: 'tests/object-store/' },
  'acme-server': { find: findAcmeServer, variable: 'TEST_ACME_SERVER', path: 'tests/acme/' },
  'lambda-runtime': { find: findLambdaRuntime, variable: 'TEST_LAMBDA_RUNTIME', path: 'tests/lambda/' },
  'aws-emulator': { find: findAwsEmulator, variable: 'TEST_AWS_EMULATOR', path: 'tests/aws/' },
  'client-generators': { find: findClientGenerators, variable: 'TEST_CLIENT_GENERATORS', path: 'tests/clients/' },
  'openapi-generator': {
    find: findOpenApiGenerator,
    variable: 'TEST_OPENAPI_GENERATOR',
    path: 'tests/openapi-generator/',
  },
  'sdk-runtimes': { find: findSdkRuntimes, variable: 'TEST_SDK_RUNTIMES', path: 'tests/runtimes/' },
}
const SUMMARY = join(ROOT, '.build/test-summary')
const SHOWN_LEFTOVERS = 40
// A busy machine fails a file now and then; a broken change fails it twice, or many files.
const RERUN_MAX = 6
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const SUITE_MINUTES = 40

await main(process.argv.slice(2))
