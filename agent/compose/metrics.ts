import { serve } from '../../shared/http/serve.ts'
import { meterProcess } from '../drivers/host/process-metrics.ts'
import { createPrometheusMeter, PROMETHEUS_TYPE, type PrometheusMeter } from '../drivers/metrics/meter-prometheus.ts'
import { createMetricsHandler } from '../server/metrics-address.ts'
import type { DeploymentDeps } from './deployment.ts'
import { openServer } from './listen.ts'

/** A meter that tells of this process, until `closers` run. */
export function createMeter(
  deps: DeploymentDeps,
  version: { version: string; commit: string | null },
): PrometheusMeter {
  const meter = createPrometheusMeter(deps)
  deps.closers.add('figures of the process', meterProcess(meter, version))
  return meter
}

/** Serves the figures at the address of their own, unless that is off. Rejects if it cannot listen. */
export async function serveMetrics(
  { settings, closers, logger, clock }: DeploymentDeps,
  meter: PrometheusMeter,
): Promise<void> {
  if (settings.metrics === null) return
  const server = await openServer({ ...settings.metrics, tls: null })
  closers.add('metrics address', () => server.closeAllConnections())
  const handler = createMetricsHandler({ type: PROMETHEUS_TYPE, render: () => meter.render() })
  const serving = serve(server, { handler, logger, now: () => clock.now() })
  closers.add('metrics', () => serving.drain(AbortSignal.timeout(CLOSE_MS)))
}

const CLOSE_MS = 1_000
