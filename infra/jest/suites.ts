import type { Suite } from './suite.ts'

const E2E = 'tests/e2e'
const INTEGRATION = 'tests/integration'
const ON_PODS = { TEST_RUNTIME: 'kubernetes' }
/** Tests on an emulated machine, which beside other work takes minutes for what takes seconds elsewhere. */
export const MACHINE = {
  workers: 1,
  env: { TEST_FILE_MINUTES: '60' },
  limitMinutes: 240,
  needsPackages: true,
  lane: 'machine',
}

/** Files of the contract that say nothing of pods: they look into crun, or bound what the cluster bounds. */
const NOT_ON_PODS = ['runtime-disk-limit', 'runtime-network-limit'].map((name) => `tests/contract/boxes/${name}`)
/** Files that run with pods as well: what the contract cannot say is the same, such as what a restart of the agent finds. */
const ON_PODS_TOO = [
  'deployment',
  'services/services',
  'edge/urls',
  'health/metrics',
  'boxes/disk',
  'boxes/faults',
  'standalone.test',
]

/** Suites of files in tests/contract, tests/integration and tests/e2e that `core` leaves out. */
const BEYOND_CORE: readonly Suite[] = [
  {
    name: 'faults',
    turn: 0,
    what: 'kill -9 of a real agent, reboots, broken and full disks, a random history of all operations',
    minutes: 6,
    paths: [
      `${E2E}/.*/(deploy-|device-)?faults`,
      ...['pool/bad-blocks', 'pool/full-', 'pool/small-disk', 'volumes/full-disk', 'boxes/lost-data'].map(inE2e),
      ...['events/crash', 'exec/shim', 'exec/streams-restart', 'health/failures', 'model'].map(inE2e),
    ],
    touchedBy: [
      'agent/core/reconcile/',
      'agent/drivers/store/',
      'agent/drivers/pool/',
      'agent/shim/',
      'agent/lib/disk/',
    ],
    workers: 4,
  },
  {
    name: 'neighbours',
    turn: 0,
    what: 'one tenant, or a client without a token, does its worst to the others',
    minutes: 4,
    paths: [
      ...['access/admission', 'access/fairness', 'edge/neighbours', 'pool/pool-shares', 'services/long-records'].map(
        inE2e,
      ),
      ...['http/large-bodies', 'http/silent-connections', 'exec/many-waiters', 'edge/deploy-traffic'].map(inE2e),
    ],
    touchedBy: ['agent/server/processor-turns', 'agent/core/common/turns', 'agent/compose/connections', 'shared/http/'],
    workers: 3,
  },
  {
    name: 'console',
    turn: 2,
    what: 'the web console in Chromium',
    minutes: 6,
    paths: [`${E2E}/web/`, `${E2E}/edge/browser`],
    touchedBy: ['web/', 'infra/web/', 'sdk/typescript/src/'],
    workers: 3,
    needsPackages: true,
  },
  {
    name: 'release',
    turn: 0,
    what: 'the packages of a release, serverless-offline, and the start from a checkout',
    minutes: 4,
    paths: [
      ...['systemd/release', 'front/serverless-package', 'front/bundle'].map((name) => `${INTEGRATION}/${name}`),
      ...['doctor/packaged', 'offline', 'up'].map((name) => `${E2E}/${name}`),
      'tests/contract/front/offline',
    ],
    touchedBy: [
      'infra/release',
      'infra/systemd/',
      'infra/up',
      'infra/down',
      'serverless.yml',
      'infra/offline',
      'package.json',
    ],
    workers: 3,
    needsPackages: true,
  },
  {
    name: 'debian',
    turn: 2,
    what: 'whole Debians in boxes: apt, PostgreSQL, podman, shells, the documented tours',
    minutes: 5,
    paths: [
      ...['debian', 'clients/postgres', 'clients/cli-completion', 'clients/ssh-docs'].map((name) => `${E2E}/${name}`),
      ...['bases/builder', 'boxes/nesting-podman'].map((name) => `${INTEGRATION}/${name}`),
    ],
    touchedBy: ['agent/drivers/bases/', 'agent/drivers/host/seccomp', 'README.md', 'docs/'],
    workers: 3,
    needsPackages: true,
  },
]

function inE2e(name: string): string {
  return `${E2E}/${name}`
}

/** All suites, in the order in which CI takes those that a change touches. */
export const SUITES: readonly Suite[] = [
  {
    name: 'unit',
    turn: null,
    what: 'rules of the code; functions, and the core over fakes of its ports',
    minutes: 1.5,
    paths: ['tests/architecture/', 'tests/unit/'],
    touchedBy: [],
    workers: 3,
  },
  {
    name: 'core',
    turn: null,
    what: 'contracts of the drivers, and what a user does with boxes, on this host',
    minutes: 9,
    paths: ['tests/contract/', `${INTEGRATION}/`, `${E2E}/`],
    ignored: BEYOND_CORE.flatMap(({ paths }) => paths),
    touchedBy: [],
    // Files with boxes wait more than they compute.
    workers: 5,
  },
  ...BEYOND_CORE,
  {
    name: 's3',
    turn: 2,
    what: 'backups to a real S3 server',
    minutes: 1,
    paths: ['tests/object-store/'],
    peers: ['object-store'],
    touchedBy: ['agent/drivers/backups/', 'infra/object-store/'],
    workers: 2,
  },
  {
    name: 'acme',
    turn: 2,
    what: 'certificates of a real ACME server',
    minutes: 2,
    paths: ['tests/acme/'],
    peers: ['acme-server'],
    touchedBy: ['agent/drivers/edge/', 'infra/acme-server/'],
    workers: 2,
    needsPackages: true,
  },
  {
    name: 'lambda',
    turn: 0,
    what: "the packaged function under AWS's own client of the Lambda Runtime API",
    minutes: 2,
    paths: ['tests/lambda/'],
    peers: ['lambda-runtime', 'object-store'],
    touchedBy: ['functions/', 'infra/lambda-runtime/', 'infra/build.ts', 'serverless.yml'],
    workers: 2,
    needsPackages: true,
  },
  {
    name: 'aws',
    turn: 0,
    what: 'the stack on an emulator of AWS: deployed, updated, removed',
    minutes: 3,
    paths: ['tests/aws/'],
    peers: ['aws-emulator'],
    touchedBy: ['infra/aws', 'serverless.yml', 'infra/deploy.ts'],
    workers: 2,
    needsPackages: true,
  },
  {
    name: 'clients',
    turn: 1,
    what: 'the OpenAPI document by generators and a tester of others; the Python SDK',
    minutes: 5,
    paths: ['tests/clients/', 'tests/openapi-generator/'],
    peers: ['client-generators', 'openapi-generator'],
    touchedBy: [
      'sdk/python/',
      'shared/openapi/',
      'shared/schemas/',
      'shared/routes',
      'infra/client-generators/',
      'infra/sdk',
    ],
    workers: 3,
    needsPackages: true,
  },
  {
    name: 'runtimes',
    turn: 2,
    what: 'the packed TypeScript SDK on Node.js 20, Bun, Deno and in Chromium',
    minutes: 3,
    paths: ['tests/runtimes/'],
    peers: ['sdk-runtimes'],
    touchedBy: ['sdk/typescript/', 'infra/sdk-runtimes/'],
    workers: 2,
    needsPackages: true,
  },
  {
    name: 'pods',
    turn: 0,
    what: 'the contract of the runtime with pods for boxes, and the API over them',
    minutes: 9,
    paths: ['tests/contract/boxes/runtime', ...ON_PODS_TOO.map(inE2e)],
    ignored: NOT_ON_PODS,
    touchedBy: [
      'agent/drivers/pods/',
      'agent/drivers/boxes/',
      'agent/lib/kube/',
      'agent/compose/kubernetes',
      'infra/node/',
    ],
    workers: 6,
    env: ON_PODS,
    needsCluster: true,
    needsPackages: true,
  },
  {
    name: 'cluster',
    turn: 2,
    what: 'the Kubernetes side: objects, rights, the hook on the node, warm pods, an API server that fails',
    minutes: 8,
    paths: ['tests/cluster/'],
    touchedBy: [
      'agent/drivers/pods/',
      'agent/lib/kube/',
      'agent/drivers/fleet/',
      'infra/cluster',
      'infra/kubernetes/',
      'infra/node/',
    ],
    workers: 6,
    env: ON_PODS,
    needsCluster: true,
    needsPackages: true,
  },
  {
    name: 'fleet',
    turn: 1,
    what: 'several services behind one API',
    minutes: 13,
    paths: ['tests/fleet/'],
    touchedBy: ['agent/core/fleet/', 'agent/server/', 'agent/drivers/fleet/', 'agent/compose/fleet', 'infra/fleet/'],
    // A host has numbers for twelve instances, and each service has boxes.
    workers: 2,
    env: ON_PODS,
    needsCluster: true,
    needsPackages: true,
  },
  {
    ...MACHINE,
    // It keeps one processor busy and shares nothing with other suites.
    lane: 'machine',
    name: 'machine',
    turn: 1,
    what: 'the package on an emulated Debian 13 with systemd: an installation, and a power cut under load',
    minutes: 8,
    paths: ['tests/vm/install', 'tests/vm/power'],
    touchedBy: ['infra/vm/', 'infra/release/', 'infra/systemd/', 'agent/drivers/pool/'],
  },
  {
    ...MACHINE,
    // It keeps one processor busy and shares nothing with other suites.
    lane: 'machine',
    name: 'vm',
    turn: null,
    what: 'that machine used, restarted, rebooted, upgraded, examined and removed',
    minutes: 50,
    paths: ['tests/vm/'],
    ignored: ['tests/vm/install', 'tests/vm/power'],
    touchedBy: [],
  },
]
