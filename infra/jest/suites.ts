import { draw } from '../../tests/helpers/sample.ts'
import { findAcmeServer } from '../acme-server/program.ts'
import { findAwsEmulator } from '../aws-emulator/program.ts'
import { findClientGenerators } from '../client-generators/program.ts'
import { findLambdaRuntime } from '../lambda-runtime/program.ts'
import { findObjectStore } from '../object-store/program.ts'
import { findOpenApiGenerator } from '../openapi-generator/program.ts'
import { findSdkRuntimes } from '../sdk-runtimes/program.ts'
import type { JestRun } from './run.ts'

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
    workers: 6,
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

export interface Suite extends JestRun {
  /** Files of which each tree draws some; the others do not run, even where `paths` has them. */
  drawn?: readonly { from: readonly string[]; count: number }[]
  /** Runs on a real Kubernetes. */
  needsCluster?: boolean
  /** Ends the run if it takes longer; default: SUITE_MINUTES. */
  minutes?: number
  /** Peers that are built or installed once; each adds the tests in its folder. */
  peers?: readonly (keyof typeof PEERS)[]
}

/** Returns the suites that the arguments of `npm test` name, each with its draw; see infra/test.ts. */
export function suitesOf(args: readonly string[]): Suite[] {
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

function inFolder(folder: string, names: readonly string[]): string[] {
  return names.map((name) => `${folder}/${name}`)
}

const DEFAULT_SUITES = ['unit', 'real', 'cluster', 'fleet', 'machine']
const ALL_SUITES = [...DEFAULT_SUITES, 'everywhere']
/** Programs that a suite's tests are held against, with the folder of those and the variable that names the program. */
export const PEERS = {
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
