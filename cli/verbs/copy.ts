import { statSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'
import { saveFile, saveTree } from '../files/downloading.ts'
import { copyNameOf } from '../files/local-name.ts'
import {
  absolutePathIn,
  describeRemote,
  type RemotePath,
  remotePathOf,
  requireRemotePath,
} from '../files/remote-path.ts'
import { moveByShortestWay } from '../files/shortest-way.ts'
import { sendFile, sendTree } from '../files/uploading.ts'
import { UsageError } from '../output/failures.ts'
import { createMeter, type Meter } from '../output/meter.ts'
import type { Verb, VerbContext } from './verb.ts'

const copy: Verb = {
  words: 'cp',
  args: '<path> <path...>',
  flags: [
    ['-r, --recursive', 'for who is used to it: directories are copied with all in them anyway'],
    ['--preserve', 'keep set-user-id, set-group-id and sticky bits, and modes beyond the umask'],
  ],
  summary: 'Copy files and directories into a box, BOX:PATH, or out of it; the last is where to, - is stdin or stdout',
  details: `A path in a box without a slash at its beginning is below the home of root.
A slash at the end stands for a directory to copy into, which is made if it is not there; no other directories are made.
Modes are kept in the box, where all belongs to root; here they are subject to the umask, and set-user-id, set-group-id and sticky
bits are dropped, without --preserve. A link here is replaced, not followed; devices, FIFOs and sockets are left out. On the host of the service long files pass its front by, with a ticket.
A file comes whole or not at all, and so does a new directory here; of one that is sent, files before an interruption stay.`,
  examples: [
    'boxyard cp app.js web:/srv/',
    'boxyard cp web:/var/log ./log',
    'boxyard cp index.html style.css web:/srv/site/',
    'boxyard cp web:notes.txt -',
    'boxyard cp - web:/etc/motd < motd',
  ],
  operations: ['readFile', 'writeFile', 'readArchive', 'writeArchive', 'makeDirectory', 'statFile', 'createTicket'],
  run: async (context, given, flags) => {
    const preserves = flags['preserve'] === true
    const [to = '', ...sources] = [given.at(-1) ?? '', ...given.slice(0, -1)]
    const target = remotePathOf(to)
    if (sources.some((from) => (remotePathOf(from) === null) === (target === null)))
      throw new UsageError('One side is BOX:PATH, the other is here.')
    for (const from of sources) {
      const source = remotePathOf(from)
      if (source !== null) await download(context, source, { to, isOneOfSeveral: sources.length > 1, preserves })
      else if (target !== null) await upload(context, from, { target, isOneOfSeveral: sources.length > 1 })
    }
  },
}

const cat: Verb = {
  words: 'cat',
  args: '<box:path...>',
  flags: [],
  summary: 'Print files of boxes',
  examples: ['boxyard cat web:/etc/hostname', 'boxyard cat web:notes.txt'],
  operations: ['readFile'],
  run: async ({ boxyard, project }, paths) => {
    for (const text of paths) {
      const remote = requireRemotePath(text)
      const box = boxyard.box(project(), remote.box)
      await toStdout(await box.readFile(await absolutePathIn(box, remote.path)))
    }
  },
}

/** The verbs that copy files. */
export const COPY_VERBS: readonly Verb[] = [copy, cat]

async function download(
  { boxyard, connection, project }: VerbContext,
  source: RemotePath,
  { to, isOneOfSeveral, preserves }: { to: string; isOneOfSeveral: boolean; preserves: boolean },
): Promise<void> {
  const box = boxyard.box(project(), source.box)
  const path = await absolutePathIn(box, source.path)
  const found = await describeRemote(boxyard, { project: project(), name: source.box }, path)
  if (found === null) throw new Error(`There is no ${path} in ${source.box}.`)
  const isTree = found.type === 'directory'
  const read = (from: BoxHandle): Promise<ReadableStream<Uint8Array>> => from.readFile(path)
  const bytes = isTree
    ? await box.readArchive(path)
    : await moveByShortestWay(connection, { box, sizeBytes: found.size_bytes }, read)
  if (to === '-') return toStdout(bytes)
  if (isOneOfSeveral && !isDirectory(to)) throw new UsageError(`${to} is no directory, which several copies need.`)
  // As with cp: `DIR/.` is what is in the directory.
  const place = isDirectory(to) && !source.path.endsWith('/.') ? join(to, copyNameOf(source)) : to
  // The mode of a link tells nothing of what it leads to.
  const mode = found.type === 'symlink' ? PLAIN_MODE : Number.parseInt(found.mode, 8)
  await withMeter({ label: basename(place), totalBytes: found.type === 'file' ? found.size_bytes : null }, (meter) =>
    (isTree ? saveTree : saveFile)(place, bytes, { mode, preserves, meter }),
  )
}

async function upload(
  { boxyard, connection, project }: VerbContext,
  from: string,
  { target, isOneOfSeveral }: { target: RemotePath; isOneOfSeveral: boolean },
): Promise<void> {
  const box = boxyard.box(project(), target.box)
  const given = await absolutePathIn(box, target.path)
  const place = { project: project(), name: target.box }
  const isInto = target.path.endsWith('/') || (await describeRemote(boxyard, place, given))?.type === 'directory'
  if (isOneOfSeveral && !isInto)
    throw new UsageError(`${given} is no directory; end it with a slash for a new one that several copies come into.`)
  if (from === '-' && isInto) throw new UsageError('What comes from stdin needs the name of a file.')
  const path = isInto ? posix.join(given, basename(from)) : given
  const isTree = from !== '-' && isDirectory(from)
  const totalBytes = from === '-' || isTree ? null : statSync(from).size
  await withMeter({ label: from === '-' ? posix.basename(path) : basename(from), totalBytes }, async (meter) => {
    const parents = target.path.endsWith('/')
    if (isTree) return sendTree({ boxyard, box, path: path.replace(/\/+$/, '') || '/', parents, meter }, from)
    const send = (to: BoxHandle): Promise<void> =>
      sendFile({ box: to, path, parents, meter }, from === '-' ? null : from)
    await moveByShortestWay(connection, { box, sizeBytes: totalBytes ?? 0 }, send)
  })
}

async function withMeter(
  { label, totalBytes }: { label: string; totalBytes: number | null },
  work: (meter: Meter) => Promise<void>,
): Promise<void> {
  const meter = createMeter(label, totalBytes)
  try {
    await work(meter)
  } finally {
    meter.end()
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

async function toStdout(bytes: ReadableStream<Uint8Array>): Promise<void> {
  await pipeline(bytes, process.stdout, { end: false })
}

const PLAIN_MODE = 0o644
