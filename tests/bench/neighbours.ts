import { askUrl } from '../helpers/edge/url-client.ts'
import { type Client, createClient } from '../helpers/front/client.ts'
import { startService } from '../helpers/service.ts'
import { boxPath, createBox, deleteBox, execEcho } from './context.ts'
import { judge, percentile, timeEach } from './figures.ts'

/**
 * Times what a tenant sees, its p95 of exec, create and the edge, while a box of another tenant does its worst: one attack after the
 * other, each beside the idle figures. The attacker has a token of its own, and the limits are those of a new deployment but for the rate of
 * requests, which has no bound here.
 */
export async function benchNeighbours(): Promise<void> {
  const service = await startService({ settings: { BOXYARD_POOL_GB: '8', BOXYARD_SPARE_SLOTS: '8' } })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  try {
    const attacker = await openAttacker(service.url, client)
    await createBox(client, 'quiet')
    await client.put(`${boxPath('quiet')}/services/page`, PAGE)
    await client.post(`${boxPath('quiet')}/publish`, { auth: 'public' })
    const url = (await client.get(`${boxPath('quiet')}/services/page`)).body.active_url
    await measure(client, url)
    const idle = await measure(client, url)
    print('idle', idle, idle)
    for (const [name, attack] of Object.entries(ATTACKS)) {
      const stop = await attack(attacker)
      try {
        print(name, await measure(client, url), idle)
      } finally {
        await stop()
      }
    }
  } finally {
    await service.close()
  }
}

/** p95 in milliseconds. */
interface Figures {
  exec: number
  create: number
  edge: number
}

async function measure(client: Client, url: string): Promise<Figures> {
  const p95 = (values: number[]): number => percentile(values, 0.95)
  const exec = p95(await timeEach(100, () => execEcho(client, 'quiet')))
  const create = p95(await timeEach(30, (index) => createBox(client, `new-${index}`)))
  for (let index = 0; index < 30; index++) await deleteBox(client, `new-${index}`)
  const edge = p95(
    await timeEach(300, async () => {
      const { status } = await askUrl(url)
      if (status !== 200) throw new Error(`the edge answers ${status}`)
    }),
  )
  return { exec, create, edge }
}

function print(name: string, busy: Figures, idle: Figures): void {
  const cell = (key: keyof Figures): string =>
    `${key} ${busy[key].toFixed(1)} ms ${(busy[key] / idle[key]).toFixed(1)}×`.padEnd(26)
  const holds = (['exec', 'create', 'edge'] as const).every((key) => busy[key] <= MOST * idle[key])
  const mark = judge(holds, 'FALLS SHORT')
  process.stdout.write(
    `${name.padEnd(26)} ${cell('exec')} ${cell('create')} ${cell('edge')} target ≤ ${MOST}×  ${mark}\n`,
  )
}

interface Attacker {
  client: Client
  /** Runs a line in the attacker's box until the returned function is called. */
  run(line: string): Promise<() => Promise<void>>
  /** Repeats a request, `count` at a time, until the returned function is called. */
  flood(count: number, ask: (index: number) => Promise<unknown>): () => Promise<void>
}

async function openAttacker(url: string, admin: Client): Promise<Attacker> {
  const body = { name: 'loud', projects: ['loud'], permissions: ['read', 'write', 'exec'] }
  const { token } = (await admin.post('/v1/tokens', body)).body
  const client = createClient(
    () => url,
    () => token,
  )
  const config = { ram_mb: 256, cpus: 1 }
  for (const name of ['box', 'sink']) {
    const { status, text } = await client.post(LOUD, { name, config })
    if (status !== 201) throw new Error(`create ${name}: ${text}`)
    await client.put(`${LOUD}/${name}`, { termination_grace_period_seconds: 0 })
  }
  return {
    client,
    run: async (line) => {
      await client.shell('loud', 'box', line, { no_hup: true })
      return async () => {
        // A stop ends all of it, whatever it has become.
        for (const act of ['stop', 'resume']) await client.post(`${LOUD}/box/${act}`)
        await client.shell('loud', 'box', 'rm -rf /root/*; sync')
      }
    },
    flood: (count, ask) => {
      let isOver = false
      const one = async (index: number): Promise<void> => {
        while (!isOver) await ask(index).catch(() => undefined)
      }
      const all = Promise.all(Array.from({ length: count }, (_, index) => one(index)))
      return async () => {
        isOver = true
        await all
      }
    },
  }
}

/** Repeats a line of the shell in `count` processes. */
const loops = (count: number, line: string): string =>
  `for i in $(seq ${count}); do while :; do ${line}; done 2>/dev/null & done; wait`

const ATTACKS: Record<string, (attacker: Attacker) => Promise<() => Promise<void>>> = {
  'processors ×8': ({ run }) => run(loops(8, ':')),
  'forks ×8': ({ run }) => run(loops(8, '/bin/true')),
  'fsync ×8': ({ run }) => run(loops(8, 'dd if=/dev/zero of=/root/f$i bs=4k count=1 conv=fsync')),
  'bulk writes ×2': ({ run }) => run(loops(2, 'dd if=/dev/urandom of=/root/f$i bs=1M count=64 conv=fsync')),
  'names ×4': ({ run }) =>
    run(
      loops(4, 'mkdir -p /root/d$i; for n in $(seq 500); do >/root/d$i/a-rather-long-name-$n; done; rm -r /root/d$i'),
    ),
  'UDP ×4': ({ run }) => run(loops(4, 'nc -u -w 1 sink 9 </dev/zero')),
  memory: ({ run }) => run(loops(2, 'head -c 200m /dev/zero | tail')),
  'exec flood ×16': async ({ client, flood }) =>
    flood(16, () => client.post(`${LOUD}/box/exec`, { command: ['true'] })),
  'snapshots ×4': async ({ client, flood }) =>
    flood(4, async (index) => {
      await client.post(`${LOUD}/box/snapshots`, { name: `s-${index}` })
      await client.delete(`${LOUD}/box/snapshots/s-${index}`)
    }),
}

const LOUD = '/v1/projects/loud/boxes'
const MOST = 2
const PAGE = {
  command: ['/bin/sh', '-c', 'mkdir -p /srv; echo page >/srv/index.html; exec httpd -f -p $PORT -h /srv'],
  port: 8080,
  readiness: { tcp: true, interval_seconds: 0.1 },
}
