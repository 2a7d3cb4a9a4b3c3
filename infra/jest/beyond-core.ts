import type { Suite } from './suite.ts'

export const E2E = 'tests/e2e'
export const INTEGRATION = 'tests/integration'

/** Files of tests/e2e/clients that show the path from a command to a box, and files for which a whole Debian is built. */
const CLIENTS_IN_CORE = ['agent-loop', 'cli.test', 'ssh.test', 'port-forward']
const CLIENTS_ON_DEBIAN = ['postgres', 'cli-completion', 'ssh-docs']

/** Suites of files in tests/contract, tests/integration and tests/e2e that `core` leaves out. */
export const BEYOND_CORE: readonly Suite[] = [
  {
    name: 'faults',
    what: 'kill -9 of a real agent or shim, reboots, broken and full disks, a random history of all operations',
    minutes: 5.5,
    turn: 2,
    paths: [
      `${E2E}/.*/(deploy-|device-)?faults`,
      ...['pool/bad-blocks', 'pool/full-', 'pool/small-disk', 'volumes/full-disk', 'boxes/lost-data'].map(inE2e),
      ...['events/crash', 'exec/shim', 'exec/streams-restart', 'health/failures', 'model'].map(inE2e),
      ...['exec/shim-c', 'boxes/mounter', 'boxes/crash', 'boxes/filter-crash'].map(inIntegration),
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
    name: 'security',
    what: 'a hostile box, tenant or client without a token does its worst to the others',
    minutes: 5.5,
    turn: 2,
    paths: [
      ...['access/admission', 'access/fairness', 'pool/pool-shares', 'services/long-records'].map(inE2e),
      ...['pool/storage-quota', 'http/every-answer'].map(inE2e),
      ...[
        'http/large-bodies',
        'http/silent-connections',
        'exec/hostile-box',
        'exec/many-waiters',
        'edge/deploy-traffic',
        'events/scans',
      ].map(inE2e),
      ...[
        'files/escape-',
        'files/archive-races',
        'boxes/escape-nesting',
        'boxes/escape-mounts',
        'boxes/kernel-memory',
      ].map(inIntegration),
      ...['boxes/nesting-network', 'boxes/network-tables', 'http/', 'exec/stream-floods', 'exec/output-turns'].map(
        inIntegration,
      ),
    ],
    touchedBy: ['agent/server/processor-turns', 'agent/core/common/turns', 'agent/compose/connections', 'shared/http/'],
    workers: 3,
  },
  {
    name: 'host',
    what: "a host's backup, doctor, keys, figures, operations and pods' network; the backups of boxes",
    minutes: 4.5,
    turn: 2,
    paths: [
      ...['doctor/doctor', 'doctor/support', 'doctor/admin-token', 'access/host-backup', 'operations'].map(inE2e),
      ...['access/keys', 'access/admin-token', 'systemd/', 'backups/backups', 'bases/bases'].map(inE2e),
      ...['health/metrics', 'health/start-order', 'pool/space'].map(inE2e),
      ...['backups/chains', 'bases/pulled-images'].map(inIntegration),
      'tests/contract/pods/',
    ],
    touchedBy: [
      'agent/doctor/',
      'agent/compose/',
      'agent/drivers/backups/',
      'agent/core/backups/',
      'agent/drivers/registry/',
    ],
    workers: 4,
  },
  {
    name: 'cli',
    what: 'the command line, the TypeScript SDK, SSH and ports, as people use them',
    minutes: 3,
    turn: 2,
    paths: [`${E2E}/clients/(?!${[...CLIENTS_IN_CORE, ...CLIENTS_ON_DEBIAN].join('|')})`],
    touchedBy: ['cli/', 'sdk/typescript/src/'],
    workers: 4,
  },
  {
    name: 'console',
    what: 'the web console, and pages of boxes and other origins, in Chromium',
    minutes: 9,
    turn: 2,
    paths: [`${E2E}/web/`, `${E2E}/edge/(browser|neighbours)`],
    touchedBy: ['web/', 'infra/web/', 'sdk/typescript/src/'],
    workers: 3,
    needsPackages: true,
  },
  {
    name: 'release',
    what: 'the packages of a release, serverless-offline, and the start from a checkout',
    minutes: 3,
    turn: 0,
    paths: [
      ...['systemd/release', 'front/serverless-package', 'front/bundle'].map(inIntegration),
      ...['doctor/packaged', 'offline', 'up'].map(inE2e),
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
    what: 'whole Debians in boxes: apt, PostgreSQL, podman, shells, the documented tours',
    minutes: 3,
    turn: 1,
    paths: [
      `${E2E}/debian`,
      ...CLIENTS_ON_DEBIAN.map((name) => `${E2E}/clients/${name}`),
      ...['bases/builder', 'boxes/nesting-podman'].map(inIntegration),
    ],
    touchedBy: ['agent/drivers/bases/', 'agent/drivers/host/seccomp', 'README.md', 'docs/'],
    workers: 3,
    needsPackages: true,
  },
]

function inIntegration(name: string): string {
  return `${INTEGRATION}/${name}`
}

/** Returns the pattern of files in tests/e2e. */
export function inE2e(name: string): string {
  return `${E2E}/${name}`
}
