import type { Boxes } from '../../core/boxes/boxes.ts'
import { type BoxMetricsDeps, measureBox } from '../../core/boxes/metrics.ts'
import { bytesOf } from '../../core/common/sizes.ts'
import { timestamp } from '../../core/common/time.ts'
import type { Handlers } from '../common/call.ts'

/** What boxes use, over HTTP. */
export function createBoxMetricsHandlers(
  deps: BoxMetricsDeps & { boxes: Pick<Boxes, 'get'>; limits: { pidsPerBox: number } },
): Pick<Handlers, 'getBoxMetrics'> {
  return {
    getBoxMetrics: async ({ params }) => {
      const box = await deps.boxes.get(params)
      const { at, usage, storageBytes, disk } = await measureBox(deps, box)
      const { cpus, ram_mb: ramMb, storage_gb: storageGb } = box.config
      const network = usage && {
        received_bytes: usage.network.receivedBytes,
        received_packets: usage.network.receivedPackets,
        sent_bytes: usage.network.sentBytes,
        sent_packets: usage.network.sentPackets,
      }
      return {
        body: {
          box: box.name,
          at: timestamp(at),
          cpu: { seconds: usage?.cpuSeconds ?? null, limit_cores: cpus },
          memory: {
            used_bytes: usage?.memoryBytes ?? null,
            cache_bytes: usage?.cacheBytes ?? null,
            limit_bytes: ramMb * 1024 ** 2,
          },
          pids: { current: usage?.pids ?? null, limit: deps.limits.pidsPerBox },
          network,
          storage: {
            used_bytes: storageBytes,
            limit_bytes: bytesOf(storageGb),
            unique_bytes: disk?.uniqueBytes ?? null,
          },
        },
      }
    },
  }
}
