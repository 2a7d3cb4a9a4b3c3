import { askUrl } from '../helpers/edge/url-client.ts'
import type { CallOptions, Client } from '../helpers/front/client.ts'
import { boxPath, changePower, createBox, deleteBox, execEcho, forkBox, shellIn } from './context.ts'
import { openBenchStream, streamQuery } from './stream-client.ts'

/** A service that runs from a checkout. */
export interface Service {
  client: Client
  url: string
  token: string
}

/** A step that the benchmark times at both services alternately. */
export interface Step {
  pairs: number
  act(service: Service, index: number): Promise<void>
}

/** Creates a box with files and a service at its URL, and a volume, for the steps. */
export async function prepare({ client }: Service): Promise<void> {
  await createBox(client, 'warm')
  await ask(client, 'POST', DATA, { body: { name: 'volume', size_gb: 1 } })
  await ask(client, 'POST', DATA, { body: { name: 'kept', size_gb: 1 } })
  await ask(client, 'POST', `${DATA}/kept/attach`, { body: { box: 'warm', path: '/mnt/kept' } })
  await shellIn(
    client,
    'warm',
    'mkdir /root/many; cd /root/many; seq 1000 | xargs touch; head -c 16m /dev/urandom > /root/large',
  )
  await ask(client, 'PUT', PAGE, {
    body: { command: SERVING, port: 8080, readiness: { tcp: true, interval_seconds: 0.1 } },
  })
  await ask(client, 'POST', `${boxPath('warm')}/publish`, { body: { auth: 'public' } })
  await ask(client, 'POST', `${boxPath('warm')}/snapshots`, { body: { name: 'before' } })
}

async function ask(client: Client, method: string, path: string, options: CallOptions = {}): Promise<void> {
  const { status, text } = await client.call(method, path, options)
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`)
}

async function streamOf({ url, token }: Service, command: readonly string[]): Promise<void> {
  const stream = await openBenchStream(`${url}${boxPath('warm')}/exec/ws?${streamQuery(command)}`, token)
  if ((await stream.ended) !== 0) throw new Error(`${command.join(' ')} failed`)
}

async function requestPage({ client }: Service): Promise<void> {
  const { body } = await client.get(boxPath('warm'))
  for (let count = 0; count < 20; count++) {
    const { status, text } = await askUrl(body.url)
    if (status !== 200) throw new Error(`${body.url}: ${status} ${text}`)
  }
}

async function backUp({ client }: Service, index: number): Promise<void> {
  await shellIn(client, 'warm', `echo ${index} >> /mnt/kept/line`)
  const { status, text, body } = await client.post(`${DATA}/kept/backups?wait_seconds=25`)
  if (status !== 201 && status !== 200) throw new Error(`backup: ${status} ${text}`)
  const { status: left } = await client.delete(`${DATA}/kept/backups/${body.id}`)
  if (left !== 204) throw new Error(`delete of a backup: ${left}`)
}

async function diffOf({ client }: Service, index: number): Promise<void> {
  const snapshots = `${boxPath('warm')}/snapshots`
  await shellIn(client, 'warm', `echo ${index} > /root/many/1`)
  await ask(client, 'POST', snapshots, { body: { name: `after-${index}` } })
  await ask(client, 'GET', `${snapshots}/before/diff?to=after-${index}`)
  await ask(client, 'DELETE', `${snapshots}/after-${index}`)
}

async function switchVersions({ client }: Service): Promise<void> {
  for (const [verb, body] of [['deploy', { command: SERVING }], ['promote'], ['rollback']] as const)
    await ask(client, 'POST', `${PAGE}/${verb}`, { body })
}

async function inBurst({ client }: Service, create: (name: string) => Promise<void>): Promise<void> {
  const names = Array.from({ length: 10 }, (_, index) => `burst-${index}`)
  await Promise.all(names.map(create))
  await Promise.all(names.map((name) => deleteBox(client, name)))
}

const DATA = '/v1/projects/bench/data'
const PAGE = `${boxPath('warm')}/services/page`
const SERVING = ['/bin/sh', '-c', 'mkdir -p /srv; echo page > /srv/index.html; exec httpd -f -p $PORT -h /srv']
const FILE = { headers: { 'content-type': 'application/octet-stream' }, raw: Buffer.alloc(1024, 'x') }
const LARGE_FILE = { ...FILE, raw: Buffer.alloc(16 * 1024 ** 2, 'x') }

export const STEPS: Record<string, Step> = {
  'read a box': { pairs: 400, act: ({ client }) => ask(client, 'GET', boxPath('warm')) },
  'list boxes': { pairs: 400, act: ({ client }) => ask(client, 'GET', '/v1/projects/bench/boxes') },
  'exec echo': { pairs: 400, act: ({ client }) => execEcho(client, 'warm') },
  'exec echo over a WebSocket': { pairs: 300, act: (service) => streamOf(service, ['echo', 'hi']) },
  '64 MiB over a WebSocket': { pairs: 30, act: (service) => streamOf(service, ['head', '-c', '64m', '/dev/zero']) },
  'create → first exec': {
    pairs: 200,
    act: async ({ client }, i) => {
      await createBox(client, `box-${i}`)
      await execEcho(client, `box-${i}`)
    },
  },
  delete: { pairs: 200, act: ({ client }, i) => deleteBox(client, `box-${i}`) },
  'create + delete of 10 at once': {
    pairs: 20,
    act: (service) => inBurst(service, (name) => createBox(service.client, name)),
  },
  'stop → resume → first exec': {
    pairs: 100,
    act: async ({ client }) => {
      await changePower(client, 'warm', 'stop')
      await changePower(client, 'warm', 'resume')
      await execEcho(client, 'warm')
    },
  },
  'fork of a running box': { pairs: 200, act: ({ client }, i) => forkBox(client, `fork-${i}`, 'warm') },
  'delete of a fork': { pairs: 200, act: ({ client }, i) => deleteBox(client, `fork-${i}`) },
  'fork + delete of 10 at once': {
    pairs: 20,
    act: (service) => inBurst(service, (name) => forkBox(service.client, name, 'warm')),
  },
  'update of the limits': {
    pairs: 200,
    act: ({ client }, i) => ask(client, 'PUT', boxPath('warm'), { body: { config: { ram_mb: 256 + i } } }),
  },
  'attach + detach of a volume': {
    pairs: 200,
    act: async ({ client }) => {
      await ask(client, 'POST', `${DATA}/volume/attach`, { body: { box: 'warm', path: '/mnt/volume' } })
      await ask(client, 'POST', `${DATA}/volume/detach`, { body: { box: 'warm' } })
    },
  },
  'snapshot + delete of it': {
    pairs: 200,
    act: async ({ client }, i) => {
      await ask(client, 'POST', `${boxPath('warm')}/snapshots`, { body: { name: `shot-${i}` } })
      await ask(client, 'DELETE', `${boxPath('warm')}/snapshots/shot-${i}`)
    },
  },
  'change, snapshot and diff': { pairs: 60, act: diffOf },
  'change and backup': { pairs: 40, act: backUp },
  'write 1 KiB': {
    pairs: 400,
    act: ({ client }) => ask(client, 'PUT', `${boxPath('warm')}/files/write?path=/root/file`, FILE),
  },
  'read 1 KiB': {
    pairs: 400,
    act: ({ client }) => ask(client, 'GET', `${boxPath('warm')}/files/read?path=/root/file`),
  },
  'write 16 MiB': {
    pairs: 40,
    act: ({ client }) => ask(client, 'PUT', `${boxPath('warm')}/files/write?path=/root/written`, LARGE_FILE),
  },
  'read 16 MiB': {
    pairs: 40,
    act: ({ client }) => ask(client, 'GET', `${boxPath('warm')}/files/read?path=/root/large`),
  },
  'list of 1,000 files': {
    pairs: 100,
    act: ({ client }) => ask(client, 'GET', `${boxPath('warm')}/files/list?path=/root/many&max_results=1000`),
  },
  'tar of the root': { pairs: 40, act: ({ client }) => ask(client, 'GET', `${boxPath('warm')}/files/archive?path=/`) },
  '20 requests at the URL': { pairs: 60, act: requestPage },
  'publish + unpublish': {
    pairs: 100,
    act: async ({ client }, i) => {
      const body = { domains: [`name-${i}.example.org`] }
      await ask(client, 'POST', `${boxPath('warm')}/publish`, { body })
      await ask(client, 'POST', `${boxPath('warm')}/unpublish`, { body })
    },
  },
  'deploy, promote, roll back': { pairs: 20, act: switchVersions },
}
