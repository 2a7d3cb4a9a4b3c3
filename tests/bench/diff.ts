import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { type BenchContext, boxPath, createBox, deleteBox, shellIn } from './context.ts'
import { percentile, report, summary, timeEach, timeOnce } from './figures.ts'

/** Times the diff of two snapshots of 60,000 files, against rsync over the same two trees. */
export async function benchDiff(context: BenchContext): Promise<void> {
  const { client } = context
  await createBox(client, 'changing')
  await shellIn(client, 'changing', FILL)
  const before = await takeSnapshot(context, 'before')
  await shellIn(client, 'changing', CHANGE)
  const after = await takeSnapshot(context, 'after')
  const first = await timeOnce(() => diff(context, 'before', 'after'))
  const kept = await timeEach(ROUNDS, () => diff(context, 'before', 'after'))
  const live: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    live.push(await timeOnce(() => diff(context, 'before', 'live')))
    theirs.push(await timeOnce(async () => compareByRsync(context, { before, after })))
  }
  const fresh = await timeFresh(context)
  report('diff of two of 60,000 files, 10 changed', summary(fresh), '≤ 60 ms', percentile(fresh, 0.5) <= 60)
  report('  the first since the service is up', `${first.toFixed(1)} ms`, 'told', true)
  report('  asked again', summary(kept), 'told', true)
  report('  from a snapshot to the live disk', summary(live), 'told', true)
  const times = percentile(theirs, 0.5) / percentile(fresh, 0.5)
  report('  rsync -n of the two trees', `${summary(theirs)} = ${times.toFixed(0)}×`, 'told', true)
  await timeStorage(context)
  await deleteBox(client, 'changing')
}

/** Times diffs of new pairs, so that none is cached. */
async function timeFresh(context: BenchContext): Promise<number[]> {
  const { client } = context
  const values: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const [from, to] = [round === 0 ? 'after' : `after-${round - 1}`, `after-${round}`]
    await shellIn(client, 'changing', CHANGE)
    await takeSnapshot(context, to)
    values.push(await timeOnce(() => diff(context, from, to)))
  }
  return values
}

async function timeStorage({ client }: BenchContext): Promise<void> {
  const measure = async (path: string): Promise<void> => {
    const { status, text } = await client.get(path)
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
  }
  const one = await timeEach(ROUNDS, () => measure(`${boxPath('changing')}/snapshots/after-0`))
  const all = await timeEach(ROUNDS, () => measure('/v1/storage'))
  report('what deleting a snapshot would free', summary(one), 'told', true)
  report(`what deleting each of ${ROUNDS + 2} would free`, summary(all), 'told', true)
}

async function takeSnapshot({ client }: BenchContext, name: string): Promise<string> {
  const { status, body, text } = await client.post(`${boxPath('changing')}/snapshots`, { name })
  if (status !== 201) throw new Error(`snapshot ${name}: ${text}`)
  return body.id
}

async function diff({ client }: BenchContext, from: string, to: string): Promise<void> {
  const { status, body, text } = await client.get(`${boxPath('changing')}/snapshots/${from}/diff?to=${to}`)
  if (status !== 200 || body.changes.length < FILES_CHANGED) throw new Error(`diff of ${from} and ${to}: ${text}`)
}

function compareByRsync(context: BenchContext, { before, after }: { before: string; after: string }): void {
  const pool = poolPath(context)
  const inside = ['-m', '-t', String(context.service.agentPid), 'rsync']
  const args = ['-n', '-a', '--delete', '--itemize-changes', `${pool}/${after}/`, `${pool}/${before}/`]
  const { status, stdout, error } = spawnSync('nsenter', [...inside, ...args], { encoding: 'utf8' })
  if (status !== 0 || stdout.split('\n').length <= FILES_CHANGED)
    throw new Error(`rsync, which this bench is compared with: ${status} ${stdout.slice(0, 500)}`, { cause: error })
}

// The pool is mounted only in the agent's mount namespace.
function poolPath({ service }: BenchContext): string {
  const mounts = fs.readFileSync(`/proc/${service.agentPid}/mountinfo`, 'utf8').split('\n')
  return String(mounts.find((line) => line.includes(' - btrfs '))?.split(' ')[4])
}

const ROUNDS = 20
const FILES_CHANGED = 10
const FILL =
  'for d in $(seq 60); do mkdir -p /data/$d; cd /data/$d; seq 1000 | xargs touch; for i in $(seq 100); do echo $i > $i; done; done'
const CHANGE = 'for d in $(seq 10); do echo more >> /data/$d/$d; done'
