import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Meter } from '../../ports/host/meter.ts'

/** Registers metrics of this process with `meter`, under the usual names of Prometheus clients. Returns a function that stops them. */
export function meterProcess(meter: Meter, build: { version: string; commit: string | null }): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  const single = (value: number) => [{ labels: {}, value }]
  const gauge = (name: string, help: string, read: () => number): void =>
    meter.observable('gauge', { name, help, labels: [] }, () => single(read()))
  const counter = (name: string, help: string, read: () => number): void =>
    meter.observable('counter', { name, help, labels: [] }, () => single(read()))
  meter.observable('gauge', BUILD, () => [
    { labels: { version: build.version, commit: build.commit ?? '', node: process.version }, value: 1 },
  ])
  gauge('process_resident_memory_bytes', 'Resident memory of the agent.', () => process.memoryUsage.rss())
  gauge('process_open_fds', 'Open file descriptors of the agent.', () => readdirSync('/proc/self/fd').length)
  gauge('process_start_time_seconds', 'Start time of the agent, in seconds since the epoch.', () => START_SECONDS())
  counter('process_cpu_seconds_total', 'CPU time of the agent and its threads.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  counter('boxyard_event_loop_active_seconds_total', 'Busy time of the main thread of the agent.', () => {
    return performance.eventLoopUtilization().active / 1000
  })
  gauge('boxyard_event_loop_lag_seconds', 'Longest delay of the main thread since the last sample.', () => {
    const seconds = Math.max(0, delay.max / 1e9 - RESOLUTION_MS / 1000)
    delay.reset()
    return seconds
  })
  return () => void delay.disable()
}

const BUILD = {
  name: 'boxyard_build_info',
  help: 'Version of the running agent. Always 1.',
  labels: ['version', 'commit', 'node'],
} as const

const START_SECONDS = (): number => performance.timeOrigin / 1000
const RESOLUTION_MS = 20
