import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchContext, createBox, deleteBox, shellIn } from './context.ts'
import { percentile, report, summary, timeOnce } from './figures.ts'
import { inPool } from './pool-shell.ts'

/** Compares backups to a folder with manual btrfs send and zstd, and times a backup of one changed line in 5 GB. */
export async function benchBackups(context: BenchContext): Promise<void> {
  const { client } = context
  await createBox(client, 'backed')
  await benchWhole(context)
  await benchLine(context)
  await deleteBox(client, 'backed')
  for (const { id, volume } of (await client.get('/v1/projects/bench/backups')).body.backups) {
    await client.delete(`${DATA}/${volume}/backups/${id}`)
  }
}

async function benchWhole({ client, service }: BenchContext): Promise<void> {
  // Half noise, half text that compresses to about two thirds.
  await makeVolume(client, 'whole', 'head -c 400m /dev/urandom > a')
  await shellIn(client, 'backed', 'cd /whole; head -c 300m /dev/urandom | base64 > b; sync')
  const file = join(service.dataDir, 'by-hand.zst')
  const { body: volume } = await client.get(`${DATA}/whole`)
  const hand = (line: string): Promise<void> => inPool(service, line)
  await hand(`sync -f .; btrfs -q subvolume snapshot -r ${volume.id} tmp_hand`)
  const [made, packed, restored, unpacked]: number[][] = [[], [], [], []]
  for (let round = 0; round < WHOLE_ROUNDS; round++) {
    packed?.push(await timeOnce(() => hand(`btrfs send -q tmp_hand | zstd -q > ${file}; sync ${file}`)))
    let id = ''
    const begin = async (): Promise<void> => {
      id = await back(client, 'whole')
    }
    made?.push(await timeOnce(begin))
    await hand('btrfs -q subvolume create tmp_back')
    unpacked?.push(await timeOnce(() => hand(`zstd -q -d -c ${file} | btrfs -q receive tmp_back; sync -f .`)))
    restored?.push(await timeOnce(() => restore(client, id)))
    await hand(`btrfs -q subvolume delete tmp_back/tmp_hand tmp_back; rm ${file}`)
    await client.delete(`${DATA}/restored`)
    // Without the previous backup, the next is a full one again.
    await client.delete(`${DATA}/whole/backups/${id}`)
    await hand('btrfs subvolume sync .; sync')
  }
  reportPair('full backup of 0.8 GB', made, packed)
  reportPair('restore of it', restored, unpacked)
  await hand('btrfs -q subvolume delete tmp_hand')
  await dropVolume(client, 'whole')
}

async function restore(client: BenchContext['client'], id: string): Promise<void> {
  const answer = await client.post(`${DATA}?wait_seconds=25`, { name: 'restored', from_backup: id })
  if (answer.status !== 201) throw new Error(`restore: ${answer.status} ${answer.text}`)
}

async function benchLine(context: BenchContext): Promise<void> {
  const { client } = context
  await makeVolume(client, 'lines', 'echo first > line')
  for (let file = 0; file < 20; file++)
    await shellIn(client, 'backed', `head -c 250m /dev/urandom > /lines/${file}; sync`)
  await back(client, 'lines')
  const change = (index: number): Promise<string> => shellIn(client, 'backed', `echo ${index} >> /lines/line`)
  const values: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await change(round)
    values.push(await timeOnce(async () => void (await back(client, 'lines'))))
  }
  const target = 150
  report('backup of one changed line in 5 GB', summary(values), `${target} ms`, percentile(values, 0.5) <= target)
  await compareRestic(context, change, percentile(values, 0.5))
  await dropVolume(client, 'lines')
}

/** Times restic on the same change of the same volume, into a repository on the same disk. */
async function compareRestic(
  { client, service }: BenchContext,
  change: (index: number) => Promise<string>,
  oursMs: number,
): Promise<void> {
  if (!existsSync('/usr/bin/restic')) {
    process.stdout.write('restic is not installed: no peer to compare with.\n')
    return
  }
  const { body: volume } = await client.get(`${DATA}/lines`)
  const directory = join(service.dataDir, 'restic')
  const restic = (args: string): Promise<void> =>
    inPool(
      service,
      `export RESTIC_PASSWORD=bench; restic -q -r ${directory}/repository --cache-dir ${directory}/cache ${args}`,
    )
  await restic('init')
  await restic(`backup ${volume.id}`)
  const theirs: number[] = []
  for (let round = 0; round < RESTIC_ROUNDS; round++) {
    await change(round)
    theirs.push(await timeOnce(() => restic(`backup ${volume.id}`)))
  }
  const times = percentile(theirs, 0.5) / oursMs
  report('  restic of the same', `${summary(theirs)} = ${times.toFixed(0)}×`, 'told', true)
  rmSync(directory, { recursive: true })
}

async function makeVolume(client: BenchContext['client'], name: string, line: string): Promise<void> {
  const made = await client.post(DATA, { name, size_gb: 7 })
  if (made.status !== 201) throw new Error(`create volume: ${made.status} ${made.text}`)
  await client.post(`${DATA}/${name}/attach`, { box: 'backed', path: `/${name}` })
  await shellIn(client, 'backed', `cd /${name}; ${line}; sync`)
}

async function dropVolume(client: BenchContext['client'], name: string): Promise<void> {
  await client.post(`${DATA}/${name}/detach`, { box: 'backed' })
  await client.delete(`${DATA}/${name}`)
}

async function back(client: BenchContext['client'], name: string): Promise<string> {
  const begun = await client.post(`${DATA}/${name}/backups?wait_seconds=25`)
  let { body, text } = begun
  while (begun.status === 202 && body.status === 'running') {
    ;({ body, text } = await client.get(`/v1/operations/${body.id}?wait_seconds=25`))
  }
  if (body.status !== 'done') throw new Error(`backup: ${text}`)
  return body.id
}

function reportPair(what: string, ours: number[] = [], byHand: number[] = []): void {
  const ratio = percentile(byHand, 0.5) / percentile(ours, 0.5)
  report(what, summary(ours), '0.8x by hand', ratio >= 0.8)
  report('  by hand', `${summary(byHand)} = ${ratio.toFixed(2)}×`, 'told', true)
}

const ROUNDS = 20
const WHOLE_ROUNDS = 3
const RESTIC_ROUNDS = 5
const DATA = '/v1/projects/bench/data'
