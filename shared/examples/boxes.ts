/** The default configuration of a box. */
export const BOX_CONFIG = {
  cpus: 1,
  ram_mb: 512,
  region: 'local',
  storage_gb: 10,
  network_mbps: 1000,
  disk_mbps: null,
  disk_iops: null,
  nesting: false,
  shm_mb: null as number | null,
  core_dumps: false,
}

/** A box in the OpenAPI document. */
export const box = {
  id: 'box_01jd3m8w2k7v5x9q4n6p0r1s2t',
  name: 'web',
  project: 'demo',
  status: 'running',
  state: { reason: 'ready', message: null, since: '2026-11-20T08:15:30.160Z' },
  created_at: '2026-11-20T08:15:30.123Z',
  updated_at: '2026-11-20T08:15:30.160Z',
  base: 'debian',
  fork_of: null,
  node: 'local',
  config: BOX_CONFIG,
  data_mounts: [],
  environment: { LANG: 'C.UTF-8' },
  port: null,
  protocol: 'http',
  published_domains: [],
  tags: { team: 'search' },
  termination_grace_period_seconds: 10,
  url: 'http://web--demo.localhost:8081/',
  url_settings: { auth: 'token', wake: false, idle_stop_seconds: null },
  lease_until: null as string | null,
}

const stoppedBox = {
  ...box,
  status: 'stopped',
  state: { reason: 'stopped_by_request', message: null, since: '2026-11-20T09:00:00.000Z' },
}

/** Examples of the operations on boxes. */
export const BOX_EXAMPLES = {
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
  getBoxMetrics: {
    response: {
      box: 'web',
      at: '2026-11-20T08:15:30.123Z',
      cpu: { seconds: 1.26, limit_cores: 1 },
      memory: { used_bytes: 44040192, cache_bytes: 8388608, limit_bytes: 536870912 },
      pids: { current: 4, limit: 4096 },
      network: { received_bytes: 120431, received_packets: 211, sent_bytes: 9120, sent_packets: 96 },
      storage: {
        used_bytes: 1048576,
        limit_bytes: 10737418240,
        unique_bytes: 1064960,
        project_stored_bytes: 9_663_676_416,
      },
    },
  },
  getBoxMetricsHistory: {
    response: {
      box: 'web',
      step_seconds: 60,
      points: [
        {
          at: '2026-11-20T08:15:00.000Z',
          cpu_cores: 0.021,
          memory_bytes: 44040192,
          cache_bytes: 8388608,
          storage_bytes: 1048576,
          received_bytes_per_second: 2007,
          sent_bytes_per_second: 152,
        },
      ],
    },
  },
}
