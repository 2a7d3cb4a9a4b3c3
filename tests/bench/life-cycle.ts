import { type BenchContext, changePower, createBox, deleteBox, execEcho } from './context.ts'
import { percentile, report, summary, timeEach } from './figures.ts'

/** Times one box after another: create with a first command, exec, stop and resume, delete. */
export async function benchLifeCycle({ client, docker }: BenchContext): Promise<void> {
  await createBox(client, 'warm')
  await timeEach(10, () => execEcho(client, 'warm'))
  const create = await timeEach(ROUNDS, async (i) => {
    await createBox(client, `life-${i}`)
    await execEcho(client, `life-${i}`)
  })
  const exec = await timeEach(ROUNDS * 3, () => execEcho(client, 'warm'))
  const cycle = await timeEach(ROUNDS, async () => {
    await changePower(client, 'warm', 'stop')
    await changePower(client, 'warm', 'resume')
    await execEcho(client, 'warm')
  })
  const remove = await timeEach(ROUNDS, (i) => deleteBox(client, `life-${i}`))
  await deleteBox(client, 'warm')
  const p50 = (values: number[]): number => percentile(values, 0.5)
  const isCreateFast = p50(create) <= 50 && percentile(create, 0.95) <= 90
  report('create → running → first exec', summary(create), '50 / 90 ms', isCreateFast)
  report('exec echo', summary(exec), '14 ms', p50(exec) <= 14)
  report('stop → resume → first exec', summary(cycle), '50 ms', p50(cycle) <= 50)
  report('delete', summary(remove), '30 ms', p50(remove) <= 30)
  const dockerCreate = await timeEach(ROUNDS, async (i) => {
    await docker.createAndStart(`life-${i}`)
    await docker.exec(`life-${i}`)
  })
  const dockerExec = await timeEach(ROUNDS * 2, () => docker.exec('life-0'))
  const dockerRemove = await timeEach(ROUNDS, (i) => docker.remove(`life-${i}`))
  const ratio = (theirs: number[], ours: number[]): number => p50(theirs) / p50(ours)
  const compare = (what: string, theirs: number[], ours: number[], least: number | null): void => {
    const times = ratio(theirs, ours)
    const target = least === null ? 'told' : `≥ ${least}×`
    report(`docker: ${what}`, `${summary(theirs)} = ${times.toFixed(1)}×`, target, least === null || times >= least)
  }
  compare('create → first exec', dockerCreate, create, 4)
  compare('exec echo', dockerExec, exec, 3)
  compare('rm -f', dockerRemove, remove, null)
}

const ROUNDS = 40
