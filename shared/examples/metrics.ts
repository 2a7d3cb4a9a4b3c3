/** That of the operation that measures a box. */
export const METRICS_EXAMPLES = {
  getBoxMetrics: {
    response: {
      box: 'web',
      at: '2026-11-20T08:15:30.123Z',
      cpu: { seconds: 1.26, limit_cores: 1 },
      memory: { used_bytes: 44040192, cache_bytes: 8388608, limit_bytes: 536870912 },
      pids: { current: 4, limit: 4096 },
      network: { received_bytes: 120431, received_packets: 211, sent_bytes: 9120, sent_packets: 96 },
      storage: { used_bytes: 1048576, limit_bytes: 10737418240, unique_bytes: 1064960 },
    },
  },
}
