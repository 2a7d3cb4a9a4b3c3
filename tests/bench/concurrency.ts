import { type BenchContext, createBox, deleteBox, execEcho } from './context.ts'
import { percentile, report, summary, timeOnce } from './figures.ts'

/** Times 100 concurrent creates, each with a first command. */
export async function benchConcurrency({ client, docker }: BenchContext): Promise<void> {
  const ours = await atOnce(async (name) => {
    await createBox(client, name)
    await execEcho(client, name)
  })
  const median = percentile(ours.values, 0.5)
  const isFine = median <= 1800 && ours.failures === 0
  report('100 at once: create → first exec', `${summary(ours.values)}, ${ours.failures} failures`, '1.8 s; 0', isFine)
  await Promise.all(NAMES.map((name) => deleteBox(client, name)))
  const theirs = await atOnce(async (name) => {
    await docker.createAndStart(name)
    await docker.exec(name)
  })
  const times = percentile(theirs.values, 0.5) / median
  report('docker: 100 at once', `${summary(theirs.values)} = ${times.toFixed(1)}×`, '≥ 4×', times >= 4)
  for (const name of NAMES) await docker.remove(name).catch(() => undefined)
}

async function atOnce(work: (name: string) => Promise<void>): Promise<{ values: number[]; failures: number }> {
  let failures = 0
  const values = await Promise.all(
    NAMES.map((name) =>
      timeOnce(() =>
        work(name).catch((error: unknown) => {
          failures += 1
          process.stderr.write(`${name}: ${String(error)}\n`)
        }),
      ),
    ),
  )
  return { values, failures }
}

const NAMES = Array.from({ length: 100 }, (_, i) => `burst-${i}`)
