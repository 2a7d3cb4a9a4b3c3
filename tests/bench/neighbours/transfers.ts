import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { encodeTarHeader } from '../../../agent/lib/tar/headers.ts'
import { dieWithParent, ROOT } from '../../../infra/commands.ts'
import type { Transfer } from '../../fixtures/transfers.ts'
import type { TestService } from '../../helpers/service.ts'
import { LOUD, type LoudTenant } from './loud.ts'

/** Creates the files, volumes and listeners that the transfers need, in the box of the loud tenant. */
export async function prepareTransfers({ client }: LoudTenant): Promise<void> {
  const shell = async (line: string): Promise<void> => {
    const { body, text } = await client.shell('loud', 'box', line)
    if (body?.exit_code !== 0) throw new Error(`${line}: ${text}`)
  }
  await shell('mkdir -p /srv/tree && for i in $(seq 32); do head -c 8m /dev/urandom >/srv/tree/$i; done')
  await shell('cat /srv/tree/* >/srv/big && sync')
  // A sparse file of one exabyte.
  await shell('mkdir -p /srv/sparse && truncate -s 1152921504606846976 /srv/sparse/file && echo a >/srv/sparse/small')
  await shell('truncate -s 64G /srv/holes')
  // Creates the files in parts, each within the time limit of a command.
  for (let part = 0; part < 10; part += 1)
    await shell(`mkdir -p /srv/many/${part} && cd /srv/many/${part} && seq 20000 | xargs touch`)
  for (const name of ['backed-0', 'backed-1']) {
    await client.post('/v1/projects/loud/data', { name, size_gb: 1 })
    await client.post(`/v1/projects/loud/data/${name}/attach`, { box: 'box', path: `/${name}` })
    await shell(`head -c 128m /dev/urandom >/${name}/file; sync`)
  }
  await shell(`printf '#!/bin/sh\\nexec cat /dev/zero\\n' >/root/source; chmod +x /root/source`)
  await shell(`printf '#!/bin/sh\\nexec cat >/dev/null\\n' >/root/sink; chmod +x /root/sink`)
  for (const [port, name] of Object.entries({ [SOURCE]: 'source', [SINK]: 'sink' }))
    await client.shell('loud', 'box', `exec nc -ll -p ${port} -e /root/${name}`, { no_hup: true })
}

/**
 * Transfers of a tenant that move as many bytes as possible, or make the service read as many files. Each returns a function that ends it.
 */
export function transfersOf(
  service: TestService,
  { client, token }: LoudTenant,
): Record<string, () => Promise<() => Promise<void>>> {
  const files = `${LOUD}/box/files`
  const get = (path: string): Transfer => ({ method: 'GET', path: `${files}/${path}` })
  const upload = (index: number): Transfer => ({
    ...{ method: 'PUT', path: `${files}/write?path=/srv/up-${index}`, sends: 64 * MIB },
  })
  const run = (count: number, ...transfers: Transfer[]) => startTransfers({ url: service.url, token, count, transfers })
  const pages = Array.from({ length: 10 }, (_, part) =>
    get(`list?path=/srv/many/${part}&recursive=true&max_results=10000`),
  )
  const port = (number: number, isWritten: boolean): Transfer => ({
    ...{ method: '', path: '', port: { project: 'loud', box: 'box', port: number, isWritten } },
  })
  return {
    'archives ×16': () => run(16, get('archive?path=/srv/tree')),
    'reads ×16': () => run(16, get('read?path=/srv/big')),
    'uploads ×16': () => run(16, ...Array.from({ length: 16 }, (_, index) => upload(index))),
    'unpacks ×8': () => run(8, { method: 'PUT', path: `${files}/archive?path=/srv/in`, sends: 64 * MIB, begins: TAR }),
    'lists of 200,000 ×16': () => run(16, ...pages, get('list?path=/srv/many&recursive=true&max_results=10000')),
    'ports from a box ×8': () => run(8, port(SOURCE, false)),
    'ports to a box ×8': () => run(8, port(SINK, true)),
    'bases ×4': () =>
      run(
        4,
        ...[0, 1, 2, 3].map((index) => ({
          ...{ method: 'POST', path: `/v1/projects/loud/bases?name=none-${index}`, sends: 64 * MIB, begins: TAR },
          isRefused: true as const,
        })),
      ),
    'backups ×2': async () => {
      const stop = [0, 1].map((index) => repeatBackups(client, index))
      return async () => void (await Promise.all(stop.map((each) => each())))
    },
    'a sparse exabyte ×16': () =>
      run(
        16,
        get('archive?path=/srv/sparse'),
        { ...get('read?path=/srv/sparse/file'), isRefused: true },
        get('read?path=/srv/holes'),
      ),
  }
}

/** Repeats transfers in a separate process of the lowest priority, since real clients would run elsewhere. */
async function startTransfers(given: {
  url: string
  token: string
  count: number
  transfers: Transfer[]
}): Promise<() => Promise<void>> {
  const line = ['nice', '-n', '19', process.execPath, join(ROOT, 'tests/fixtures/transfers.ts')]
  const [command = '', ...args] = dieWithParent(line)
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(given))
  await once(child.stdout, 'data')
  return async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

/** Backs up a volume of 256 MiB in a loop, each time in full. */
function repeatBackups(client: LoudTenant['client'], index: number): () => Promise<void> {
  let isOver = false
  const path = `/v1/projects/loud/data/backed-${index}`
  const all = (async () => {
    while (!isOver) {
      const { body, status } = await client.post(`${path}/backups?wait_seconds=25`)
      if (status < 300) await client.delete(`${path}/backups/${body.id}`)
      else await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })()
  return async () => {
    isOver = true
    await all
  }
}

const MIB = 1024 ** 2
/** Start of a tar with one file of zeros. The last zeros are its end mark. */
const TAR = encodeTarHeader({
  ...{ kind: 'file', path: 'zeros', target: '', mode: 0o644, uid: 0, gid: 0 },
  ...{ sizeBytes: 64 * MIB - 1024, modifiedSeconds: 0, modifiedNanoseconds: 0 },
}).toString('base64')
const [SOURCE, SINK] = [7002, 7003]
