import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { request } from 'undici'
import { type BenchContext, boxPath, createBox, deleteBox, shellIn } from './context.ts'
import { percentile, report, summary, timeEach, timeOnce } from './figures.ts'
import { watchMemory } from './memory-peak.ts'

/** Compares files of a box over HTTP with the same system calls directly on the pool, and with tar. */
export async function benchFiles(context: BenchContext): Promise<void> {
  const { client, service } = context
  await createBox(client, 'files')
  const { body } = await client.get(boxPath('files'))
  const root = await poolPath(context, body.id)
  await measureSmall(context, root)
  await measureLarge(context, root)
  await measureList(context)
  await deleteBox(client, 'files')
  const made = await client.post('/v1/projects/bench/boxes', { name: 'debian', base: 'debian' })
  if (made.status !== 201) throw new Error(`create: ${made.text}`)
  await measureTar(context, await poolPath(context, made.body.id), service.agentPid)
  await deleteBox(client, 'debian')
}

async function measureSmall(context: BenchContext, root: string): Promise<void> {
  const bytes = randomBytes(1024)
  const write = (): Promise<void> => send(context, '/root/small', { at: 'front', body: bytes, length: bytes.length })
  const read = async (): Promise<void> => void (await get(context, 'front', '/root/small'))
  const box = async (): Promise<void> => void (await drain(context, `${context.service.url}${boxPath('files')}`))
  const direct = `${root}/root/direct`
  await timeEach(WARM_UPS, write)
  await timeEach(WARM_UPS, read)
  const [writes, reads] = [await timeEach(ROUNDS, write), await timeEach(ROUNDS, read)]
  const directWrites = await timeEach(ROUNDS, async () => writeDirectly(direct, bytes, 1))
  const directReads = await timeEach(ROUNDS, async () => readDirectly(direct))
  compare('write 1 KiB', writes, directWrites)
  compare('read 1 KiB', reads, directReads)
  report('  GET of the box, in the same run', summary(await timeEach(ROUNDS, box)), 'told', true)
}

async function measureLarge(context: BenchContext, root: string): Promise<void> {
  const block = randomBytes(1024 ** 2)
  const direct = `${root}/root/direct`
  const values = new Map<string, number[]>()
  const time = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const ms = await timeOnce(async () => void (await work()))
    values.set(what, [...(values.get(what) ?? []), ms])
  }
  const memory = watchMemory(context.service.agentPid)
  for (let round = 0; round < LARGE_ROUNDS; round++) {
    await time('write, directly', async () => writeDirectly(direct, block, GIB_BLOCKS))
    for (const at of ADDRESSES) await time(`write, ${at}`, () => putBlocks(context, at, block))
    await time('read, directly', async () => readDirectly(direct))
    for (const at of ADDRESSES) await time(`read, ${at}`, () => curl(context, at, LARGE))
    await time('read, tcp', () => passOverLoopback(block))
    dropCaches()
    await time('read from disk, directly', async () => readDirectly(direct))
    for (const at of ADDRESSES) {
      dropCaches()
      await time(`read from disk, ${at}`, () => curl(context, at, LARGE))
    }
  }
  const of = (what: string): number[] => values.get(what) ?? []
  for (const what of ['write', 'read', 'read from disk'])
    for (const at of ADDRESSES)
      compare(`${what} 1 GiB, ${PLACES[at]}`, of(`${what}, ${at}`), of(`${what}, directly`), at === 'front')
  report('  1 GiB over loopback, by node:net alone', summary(of('read, tcp')), 'told', true)
  report("  the agent's memory", `+ ${memory.stop().toFixed(1)} MB`, 'told', true)
  fs.rmSync(direct)
}

async function measureList(context: BenchContext): Promise<void> {
  const { client } = context
  await shellIn(client, 'files', `mkdir /root/many; cd /root/many; seq 1 ${ENTRIES} | xargs touch`)
  const list = async (): Promise<void> => {
    const { body } = await client.get(`${boxPath('files')}/files/list?path=/root/many&max_results=${ENTRIES}`)
    if (body.files.length !== ENTRIES) throw new Error(`${body.files.length} entries`)
  }
  await timeEach(3, list)
  const values = await timeEach(20, list)
  report('list 10,000 entries', summary(values), '≤ 60 ms', percentile(values, 0.5) <= 60)
}

async function measureTar(context: BenchContext, root: string, agentPid: number): Promise<void> {
  await tarDirectly(root)
  for (const at of ADDRESSES) {
    const ours = (): Promise<void> => curl(context, at, `${boxPath('debian')}/files/archive?path=/`)
    await ours()
    const memory = watchMemory(agentPid)
    const [values, theirs]: [number[], number[]] = [[], []]
    for (let round = 0; round < TAR_ROUNDS; round++) {
      values.push(await timeOnce(ours))
      theirs.push(await timeOnce(() => tarDirectly(root)))
    }
    const ratio = percentile(theirs, 0.5) / percentile(values, 0.5)
    const isInformative = at === 'front'
    const measured = `${summary(values)}; ${ratio.toFixed(2)}× as fast`
    report(
      `tar of a Debian root, ${PLACES[at]}`,
      measured,
      isInformative ? 'told' : '≥ 0.7×',
      isInformative || ratio >= 0.7,
    )
    report('  tar itself, into a pipe', summary(theirs), 'told', true)
    report("  the agent's memory", `+ ${memory.stop().toFixed(1)} MB`, 'told', true)
  }
}

function compare(what: string, ours: readonly number[], direct: readonly number[], isInformative = false): void {
  const [mine, theirs] = [percentile(ours, 0.5), percentile(direct, 0.5)]
  const bound = theirs * 1.5 + 1.5
  const target = isInformative ? 'told' : `≤ ${bound.toFixed(1)} ms`
  report(what, `${summary(ours)}; directly p50 ${theirs.toFixed(2)} ms`, target, isInformative || mine <= bound)
}

/** Sends 1 GiB through a loopback socket, which is the least work of any server in this language. */
function passOverLoopback(block: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      let left = GIB_BLOCKS
      const send = (): void => {
        while (left > 0) {
          left--
          if (!socket.write(block)) return
        }
        socket.end()
      }
      socket.on('drain', send)
      send()
    })
    server.listen(0, '127.0.0.1', () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.resume()
      socket.once('error', reject)
      socket.once('end', () => {
        server.close()
        resolve()
      })
    })
  })
}

function dropCaches(): void {
  fs.writeFileSync('/proc/sys/vm/drop_caches', '1')
}

function originOf({ service }: BenchContext, at: Address): string {
  return at === 'front' ? service.url : service.dataUrl
}

// Writes as the service does, with a synced temporary file, a rename, and a sync of the directory.
function writeDirectly(path: string, block: Uint8Array, count: number): void {
  const fd = fs.openSync(`${path}.new`, 'w')
  for (let i = 0; i < count; i++) fs.writeSync(fd, block)
  fs.fsyncSync(fd)
  fs.closeSync(fd)
  fs.renameSync(`${path}.new`, path)
  const directory = fs.openSync(path.slice(0, path.lastIndexOf('/')), 'r')
  fs.fsyncSync(directory)
  fs.closeSync(directory)
}

function readDirectly(path: string): void {
  const fd = fs.openSync(path, 'r')
  const buffer = Buffer.allocUnsafe(1024 ** 2)
  while (fs.readSync(fd, buffer) > 0);
  fs.closeSync(fd)
}

async function putBlocks(context: BenchContext, at: Address, block: Uint8Array): Promise<void> {
  const blocks = async function* (): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < GIB_BLOCKS; i++) yield block
  }
  await send(context, '/root/large', { at, body: blocks(), length: GIB_BLOCKS * block.length })
}

async function send(
  context: BenchContext,
  path: string,
  { at, body, length }: { at: Address; body: Uint8Array | AsyncGenerator<Uint8Array>; length: number },
): Promise<void> {
  const answer = await request(`${originOf(context, at)}${boxPath('files')}/files/write?path=${path}`, {
    method: 'PUT',
    headers: {
      ...tokenOf(context.service),
      'content-type': 'application/octet-stream',
      'content-length': String(length),
    },
    body: body as Uint8Array,
    headersTimeout: 600_000,
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`write ${path}: ${answer.statusCode} ${text}`)
}

async function get(context: BenchContext, at: Address, path: string): Promise<number> {
  return drain(context, `${originOf(context, at)}${boxPath('files')}/files/read?path=${path}`)
}

async function drain({ service }: BenchContext, url: string): Promise<number> {
  const answer = await request(url, { headers: tokenOf(service) })
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${await answer.body.text()}`)
  let bytes = 0
  for await (const piece of answer.body) bytes += (piece as Buffer).length
  return bytes
}

// Reads with curl, because a client in Node.js would take as much CPU time as the service.
function curl(context: BenchContext, at: Address, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('curl', ['-sSf', '-o', '/dev/null', '-K', '-', `${originOf(context, at)}${path}`], {
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`curl ${path} ended with ${code}`))))
    child.stdin.end(`header = "authorization: ${tokenOf(context.service).authorization}"\n`)
  })
}

function tokenOf({ adminToken }: BenchContext['service']): Record<string, string> {
  return { authorization: `Bearer ${adminToken}` }
}

// Writes into a pipe with a reader, since tar skips reading files when its output is /dev/null.
function tarDirectly(root: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', 'tar -C "$0" -cf - . 2>/dev/null | cat > /dev/null', root], { stdio: 'ignore' })
    child.once('error', reject)
    child.once('close', () => resolve())
  })
}

// The pool is mounted only in the agent's mount namespace.
async function poolPath({ service }: BenchContext, boxId: string): Promise<string> {
  const mounts = fs.readFileSync(`/proc/${service.agentPid}/mountinfo`, 'utf8').split('\n')
  const pool = mounts.find((line) => line.includes(' - btrfs '))?.split(' ')[4]
  return `/proc/${service.agentPid}/root${pool}/sub_${boxId}`
}

type Address = 'agent' | 'front'

/** Large bodies go directly to the agent where possible. The standalone front forwards them. */
const ADDRESSES = ['agent', 'front'] as const
const PLACES = { agent: "at the agent's address", front: 'through the front' }
const ROUNDS = 200
const LARGE = `${boxPath('files')}/files/read?path=/root/large`
// Compiles the hot paths, as in a long-running service.
const WARM_UPS = 300
const GIB_BLOCKS = 1024
const LARGE_ROUNDS = 3
const TAR_ROUNDS = 7
const ENTRIES = 10_000
