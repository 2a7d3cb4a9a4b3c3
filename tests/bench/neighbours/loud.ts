import { type Client, createClient } from '../../helpers/front/client.ts'

/** Disk limits of a box. Null means unlimited. */
interface DiskBounds {
  disk_mbps: number | null
}

/** A tenant that attacks, with its own token and its own boxes in the project `loud`. */
export interface LoudTenant {
  client: Client
  token: string
  /** Creates a box without a grace period. Throws if it does not come up. */
  create(name: string): Promise<void>
  /** Runs a line in a box. The returned function stops it and removes its files. */
  run(line: string, box?: string, bounds?: DiskBounds): Promise<() => Promise<void>>
  /** Repeats a request, `count` at a time, until the returned function is called. */
  flood(count: number, ask: (index: number) => Promise<unknown>): () => Promise<void>
}

/** Creates the tenant, with the boxes `box` and `sink`. */
export async function openLoudTenant(url: string, admin: Client): Promise<LoudTenant> {
  const body = { name: 'loud', projects: ['loud'], permissions: ['read', 'write', 'exec', 'ports'] }
  const { token } = (await admin.post('/v1/tokens', body)).body
  const client = createClient(
    () => url,
    () => token,
  )
  const create = async (name: string): Promise<void> => {
    const { status, text } = await client.post(LOUD, { name, config: { ram_mb: 256, cpus: 1 } })
    if (status !== 201) throw new Error(`create ${name}: ${text}`)
    await client.put(`${LOUD}/${name}`, { termination_grace_period_seconds: 0 })
  }
  for (const name of ['box', 'sink']) await create(name)
  return {
    ...{ client, token, create },
    run: async (line, box = 'box', bounds = { disk_mbps: null }) => {
      await client.put(`${LOUD}/${box}`, { config: bounds })
      await client.shell('loud', box, line, { no_hup: true })
      return async () => {
        // A stop ends all of the line's processes.
        for (const act of ['stop', 'resume']) await client.post(`${LOUD}/${box}/${act}`)
        await client.put(`${LOUD}/${box}`, { config: { disk_mbps: null } })
        await client.shell('loud', box, 'rm -rf /root/*; sync')
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

/** Path of the tenant's boxes. */
export const LOUD = '/v1/projects/loud/boxes'

/** Repeats a shell line in `count` processes. */
const loops = (count: number, line: string): string =>
  `for i in $(seq ${count}); do while :; do ${line}; done 2>/dev/null & done; wait`

const BULK_WRITES = loops(2, 'dd if=/dev/urandom of=/root/f$i bs=1M count=64 conv=fsync')

/** Attacks of a hostile box on its host, as shell lines. */
export const BOX_ATTACKS: Record<string, string> = {
  'processors ×8': loops(8, ':'),
  'forks ×8': loops(8, '/bin/true'),
  'fsync ×8': loops(8, 'dd if=/dev/zero of=/root/f$i bs=4k count=1 conv=fsync'),
  'bulk writes ×2': BULK_WRITES,
  'names ×4': loops(
    4,
    'mkdir -p /root/d$i; for n in $(seq 500); do >/root/d$i/a-rather-long-name-$n; done; rm -r /root/d$i',
  ),
  'UDP ×4': loops(4, 'nc -u -w 1 sink 9 </dev/zero'),
  memory: loops(2, 'head -c 200m /dev/zero | tail'),
}

/** The same attacks in a box with a disk limit. */
export const BOUND_ATTACKS: Record<string, { line: string; bounds: DiskBounds }> = {
  'bulk writes ×2, 50 MB/s': { line: BULK_WRITES, bounds: { disk_mbps: 50 } },
}

/** Attacks of a tenant by requests. Each returns a function that ends it. */
export const REQUEST_ATTACKS: Record<string, (tenant: LoudTenant) => () => Promise<void>> = {
  'exec flood ×16': ({ client, flood }) => flood(16, () => client.post(`${LOUD}/box/exec`, { command: ['true'] })),
  'snapshots ×4': ({ client, flood }) =>
    flood(4, async (index) => {
      await client.post(`${LOUD}/box/snapshots`, { name: `s-${index}` })
      await client.delete(`${LOUD}/box/snapshots/s-${index}`)
    }),
}
