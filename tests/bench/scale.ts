import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { pidsOf } from '../helpers/boxes/world.ts'
import { type BenchContext, createBox, deleteBox, execEcho } from './context.ts'
import { percentile, report, summary, timeEach } from './figures.ts'

/** Measures the cost of 300 boxes: memory of each, memory of the agent, and the time of a further create. */
export async function benchScale({ service, client }: BenchContext): Promise<void> {
  const names = Array.from({ length: 300 }, (_, i) => `scale-${i}`)
  for (const name of names.slice(0, 10)) await createBox(client, name)
  const few = await timeCreates(client)
  for (let at = 10; at < names.length; at += 10) {
    await Promise.all(names.slice(at, at + 10).map((name) => createBox(client, name)))
  }
  const many = await timeCreates(client)
  const ratio = percentile(many, 0.5) / percentile(few, 0.5)
  report('create at 10 boxes', summary(few), 'told', true)
  report('create at 300 boxes', `${summary(many)} = ${ratio.toFixed(2)}×`, '≤ 1.3×', ratio <= 1.3)
  for (const name of names.slice(0, 20)) await execEcho(client, name)
  const { body } = await client.get('/v1/projects/bench/boxes?max_results=1000')
  const memory = body.boxes.map(({ id }: { id: string }) =>
    pidsOf(service, id).reduce((sum, pid) => sum + residentKib(pid), 0),
  )
  const each = percentile(memory, 0.5) / 1024
  report('memory of an idle box (Pss of its processes)', `${each.toFixed(2)} MiB`, '≤ 1 MiB', each <= 1)
  const agent = residentKib(service.agentPid, 'Rss') / 1024
  report('agent RSS with 300 boxes', `${agent.toFixed(0)} MiB`, '≤ 200 MiB', agent <= 200)
  const looks = await timeEach(50, async () => void (await (await fetch(service.metricsUrl)).text()))
  report('figures for Prometheus with 300 boxes', summary(looks), 'told', true)
  for (let at = 0; at < names.length; at += 20) {
    await Promise.all(names.slice(at, at + 20).map((name) => deleteBox(client, name)))
  }
}

// Pauses first, so that neither the writeback of new boxes nor the cleanup of deleted ones counts.
async function timeCreates(client: BenchContext['client']): Promise<number[]> {
  await sleep(5000)
  const values = await timeEach(50, (i) => createBox(client, `probe-${i}`))
  for (let i = 0; i < values.length; i++) await deleteBox(client, `probe-${i}`)
  return values
}

function residentKib(pid: number, field: 'Pss' | 'Rss' = 'Pss'): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0)
}
