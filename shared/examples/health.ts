import { viewFaults } from '../health-faults.ts'
import { problemTypes } from '../problem-types.ts'
import { BOX_CONFIG } from './boxes.ts'

const storage = {
  path: '/var/lib/boxyard',
  total_bytes: 107374182400,
  used_bytes: 21474836480,
  available_bytes: 85899345920,
  used_percent: 20,
}
const scrub = {
  ...{ status: 'done', started_at: '2026-11-20T03:00:00.000Z', ended_at: '2026-11-20T03:04:10.500Z' },
  ...{ checked_bytes: 5368709120, errors: 0 },
}

/** Examples of the operations on the deployment itself. */
export const HEALTH_EXAMPLES = {
  getHealth: {
    response: {
      status: 'degraded',
      api: { api_version: 'v1' },
      ...viewFaults([
        {
          code: 'disk_full',
          evidence: 'The disk of the data directory has 200 MiB left.',
          remedy: 'Free space on that disk. The service needs it to write its state.',
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
        config: BOX_CONFIG,
        termination_grace_period_seconds: 10,
        volume_size_gb: 10,
        quota: { boxes: 20, cpus: null, ram_mb: null, storage_gb: 200 },
      },
      nesting: false,
      features: ['boxes', 'exec', 'data', 'snapshots', 'services', 'urls', 'events'],
      limits: { max_results: 1000, wait_seconds: 25, event_streams_at_once: 256 },
      shares: {
        event_streams: { limit: 'event_streams_at_once', by: ['project', 'token'], rule: 'at_most_free' },
      },
    },
  },
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
      projects: [{ project: 'demo', stored_bytes: 9_663_676_416 }],
      orphans: [],
      deleting: 0,
      scrub,
    },
  },
  startScrub: { response: { ...scrub, status: 'running', ended_at: null, checked_bytes: 0 } },
}
