import { viewFaults } from '../health-faults.ts'
import { problemTypes } from '../problem-types.ts'
import type { OperationId } from '../routes.ts'
import { BACKUP_EXAMPLES } from './backups.ts'
import { BASE_EXAMPLES } from './bases.ts'
import { box } from './box.ts'
import { EVENT_EXAMPLES } from './events.ts'
import { EXEC_EXAMPLES } from './exec.ts'
import { FILE_EXAMPLES } from './files.ts'
import { METRICS_EXAMPLES } from './metrics.ts'
import { PUBLISHING_EXAMPLES } from './publishing.ts'
import { SERVICE_EXAMPLES } from './services.ts'
import { volume } from './volume.ts'
import { VOLUME_SNAPSHOT_EXAMPLES } from './volume-snapshots.ts'

/** A request and an answer of an operation as the OpenAPI document shows them; a pure table. */
export interface Example {
  body?: unknown
  response?: unknown
}

const mounted = { ...box, data_mounts: [{ name: 'db', path: '/var/lib/db', read_only: false }] }
const stoppedBox = {
  ...box,
  status: 'stopped',
  state: { reason: 'stopped_by_request', message: null, since: '2026-11-20T09:00:00.000Z' },
}
const snapshot = {
  id: 'snp_01jd8z0000000000000000000e',
  name: 'before-upgrade',
  project: 'demo',
  box: 'web',
  volume: null,
  comment: 'Works.',
  created_at: '2026-11-20T08:15:30.123Z',
  size_bytes: 3145728,
  unique_bytes: 16384,
  automatic: false,
  data: [{ name: 'db', path: '/var/lib/db', read_only: false }],
}
const scrub = {
  ...{ status: 'done', started_at: '2026-11-20T03:00:00.000Z', ended_at: '2026-11-20T03:04:10.500Z' },
  ...{ checked_bytes: 5368709120, errors: 0 },
}
const quota = {
  project: 'demo',
  allowed: { boxes: 20, cpus: null, ram_mb: 16384, storage_gb: 200 },
  used: { boxes: 3, cpus: 3, ram_mb: 1536, storage_gb: 40 },
  updated_at: '2026-11-20T08:00:00.000Z',
}
const token = {
  id: 'tok_01jd3mb1c2d3e4f5g6h7j8k9m0',
  name: 'ci',
  projects: ['demo'],
  permissions: ['read', 'exec'],
  expires_at: '2026-11-20T09:15:30.000Z',
  created_at: '2026-11-20T08:15:30.000Z',
  created_by: 'tok_01jd3m0000000000000000000a',
  revoked_at: null,
}
const storage = {
  path: '/var/lib/boxyard',
  total_bytes: 107374182400,
  used_bytes: 21474836480,
  available_bytes: 85899345920,
  used_percent: 20,
}

/** One example for every operation. */
export const EXAMPLES: Record<OperationId, Example> = {
  getHealth: {
    response: {
      status: 'degraded',
      api: { api_version: 'v1' },
      ...viewFaults([
        {
          code: 'disk_full',
          evidence: 'The disk of the data directory has 200 MiB left.',
          remedy: 'Free space on that disk: state cannot be written without it.',
        },
      ]),
      boxes: { pending: 0, running: 3, stopped: 1, unknown: 0, total: 4 },
      host: {
        cpu: { cores: 2, load_avg_1: 0.31, load_avg_5: 0.24, load_avg_15: 0.2 },
        memory: {
          total_bytes: 25276489728,
          used_bytes: 1276489728,
          available_bytes: 24000000000,
          used_percent: 5.05,
        },
        storage,
        storage_mounts: [storage],
      },
      kubernetes: { nodes: [], total_pods_capacity: 0, total_pods_running: 0 },
      namespace: '',
    },
  },
  getVersion: {
    response: { version: '0.1.0', api_version: 'v1', commit: null, runtime: 'crun', filesystem: 'btrfs' },
  },
  getOpenApi: { response: { openapi: '3.1.1', info: { title: 'Boxyard', version: 'v1' } } },
  listProblems: { response: { problems: problemTypes().filter(({ code }) => code === 'box_not_found') } },
  getProblem: { response: problemTypes().find(({ code }) => code === 'box_not_found') },
  getConfig: {
    response: {
      drivers: { runtime: 'crun', filesystem: 'btrfs', store: 'sqlite', backups: 'folder' },
      region: 'local',
      bases: ['busybox', 'debian'],
      defaults: {
        base: 'debian',
        config: { cpus: 1, ram_mb: 512, region: 'local', storage_gb: 10 },
        termination_grace_period_seconds: 10,
        volume_size_gb: 10,
      },
      features: ['boxes', 'exec', 'data'],
      limits: { max_results: 1000, wait_seconds: 25 },
    },
  },
  getMe: {
    response: {
      id: token.id,
      name: 'ci',
      projects: ['demo'],
      permissions: ['read', 'exec'],
      expires_at: token.expires_at,
    },
  },
  createToken: {
    body: { name: 'ci', projects: ['demo'], permissions: ['read', 'exec'], expires_in_seconds: 3600 },
    response: { ...token, token: '<shown once>' },
  },
  listTokens: { response: { tokens: [token], has_more: false, next_continuation_token: null } },
  deleteToken: {},
  getOperation: {
    response: {
      id: 'opr_01jd3mc1d2e3f4g5h6j7k8m9n0',
      kind: 'box.stop',
      status: 'running',
      progress: null,
      resource: '/v1/projects/demo/boxes/web',
      error: null,
      created_at: '2026-11-20T08:59:50.000Z',
      ended_at: null,
    },
  },
  createBox: {
    body: {
      name: 'web',
      base: 'debian',
      config: { cpus: 1 },
      environment: { LANG: 'C.UTF-8' },
      tags: { team: 'search' },
    },
    response: box,
  },
  listBoxes: { response: { boxes: [box], has_more: false, next_continuation_token: null } },
  getBox: { response: box },
  deleteBox: {},
  stopBox: { response: stoppedBox },
  resumeBox: { response: box },
  leaseBox: { body: { seconds: 600 }, response: { ...box, lease_until: '2026-11-20T09:10:00.000Z' } },
  updateBox: { body: { config: { cpus: 2, ram_mb: 1024 }, port: 8080 }, response: box },
  createTicket: {
    body: { operation: 'writeFile', query: { path: '/srv/app.conf' } },
    response: {
      url: 'https://data.example.org/v1/projects/demo/boxes/web/files/write?path=%2Fsrv%2Fapp.conf&ticket=<shown once>',
      method: 'PUT',
      expires_at: '2026-11-20T08:16:30.000Z',
    },
  },
  createProjectTicket: {
    body: { operation: 'createBase', query: { name: 'web-ready' } },
    response: {
      url: 'https://data.example.org/v1/projects/demo/bases?name=web-ready&ticket=<shown once>',
      method: 'POST',
      expires_at: '2026-11-20T08:16:30.000Z',
    },
  },
  createBoxSnapshot: {
    body: { name: 'before-upgrade', comment: 'Works.', include_data: true },
    response: { ...snapshot, unique_bytes: null },
  },
  listBoxSnapshots: {
    response: { snapshots: [{ ...snapshot, unique_bytes: null }], has_more: false, next_continuation_token: null },
  },
  getBoxSnapshot: { response: snapshot },
  deleteBoxSnapshot: {},
  restoreBox: { body: { snapshot: 'before-upgrade' }, response: box },
  createVolume: {
    body: { name: 'db', size_gb: 10 },
    response: { ...volume, used_bytes: 16384, attachments: [] },
  },
  listVolumes: { response: { volumes: [volume], has_more: false, next_continuation_token: null } },
  getVolume: { response: volume },
  updateVolume: { body: { size_gb: 20 }, response: { ...volume, size_gb: 20 } },
  deleteVolume: {},
  getStorage: {
    response: {
      pool: {
        ...{ total_bytes: 21474836480, used_bytes: 5368709120, available_bytes: 16106127360 },
        data: { total_bytes: 6442450944, used_bytes: 5242880000 },
        metadata: { total_bytes: 1073741824, used_bytes: 125829120 },
        device_errors: { writes: 0, reads: 0, flushes: 0, corruptions: 0, generations: 0 },
      },
      boxes: [
        {
          ...{ project: 'demo', name: 'web', size_bytes: 314572800, unique_bytes: 1048576 },
          snapshots: [{ name: 'before-upgrade', size_bytes: 313524224, unique_bytes: 65536 }],
        },
      ],
      volumes: [],
      bases: [{ project: null, name: 'debian', size_bytes: 313524224, unique_bytes: 0 }],
      orphans: [],
      deleting: 0,
      scrub,
    },
  },
  startScrub: { response: { ...scrub, status: 'running', ended_at: null, checked_bytes: 0 } },
  diffBoxSnapshot: {
    response: {
      changes: [
        {
          ...{ kind: 'renamed', path: '/etc/web.conf', path_base64: null, from: '/etc/old.conf', from_base64: null },
          ...{ modified: true, type: 'file', size_bytes: 512 },
        },
      ],
      has_more: false,
      next_continuation_token: null,
    },
  },
  ...VOLUME_SNAPSHOT_EXAMPLES,
  ...SERVICE_EXAMPLES,
  ...PUBLISHING_EXAMPLES,
  ...METRICS_EXAMPLES,
  ...EVENT_EXAMPLES,
  ...EXEC_EXAMPLES,
  ...FILE_EXAMPLES,
  ...BASE_EXAMPLES,
  ...BACKUP_EXAMPLES,
  attachVolume: { body: { box: 'web', path: '/var/lib/db' }, response: mounted },
  detachVolume: { body: { box: 'web' }, response: box },
  getQuota: { response: quota },
  updateQuota: { body: { allowed: { boxes: 20, ram_mb: 16384, storage_gb: 200 } }, response: quota },
}
