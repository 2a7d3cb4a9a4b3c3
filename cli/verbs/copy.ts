import { mkdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'
import { copyPlaceOf } from '../files/copy-places.ts'
import { saveFile, saveLink, saveTree } from '../files/downloading.ts'
import { copyNameOf } from '../files/local-name.ts'
import { type LocalSource, localSourceOf, localTargetOf } from '../files/local-places.ts'
import {
  absolutePathIn,
  describeRemote,
  followLinks,
  type RemotePath,
  remotePathOf,
  requireRemotePath,
} from '../files/remote-path.ts'
import { moveByShortestWay } from '../files/shortest-way.ts'
import { LeftOut, nameSpecialFiles } from '../files/special-files.ts'
import { sendEntry, sendFile, sendTree } from '../files/uploading.ts'
import { writeBytes } from '../output/byte-output.ts'
import { UsageError } from '../output/failures.ts'
import { createMeter, type Meter } from '../output/meter.ts'
import type { Verb, VerbContext } from './verb.ts'

const copy: Verb = {
  words: 'cp',
  args: '<path> <path...>',
  flags: [
    ['-r, --recursive', 'for who is used to it: directories are copied with all in them anyway'],
    ['-L, --follow-link', 'copy what a source leads to that is a link, and not the link'],
    ['--preserve', 'keep set-user-id, set-group-id and sticky bits, and modes beyond the umask'],
  ],
  summary: 'Copy files and directories into a box, BOX:PATH, or out of it; the last is where to, - is stdin or stdout',
  details: `A path in a box without a slash at its beginning is below the home of root.
As with docker cp, a directory that exists, or a link to one, receives the source under its name, and DIR/. copies what is in DIR.
A source that is a link is copied as a link: -L, or a slash at its end, copies what it leads to.
A slash at the end of the target makes a missing directory, into which files, links and several sources come. No other directories are made.
Modes are kept in the box, where all belongs to root; here they are subject to the umask, and set-user-id, set-group-id and sticky
bits are dropped, without --preserve. Unlike docker cp, a file or DIR/. replaces a link of its name here, and does not write through it.
Devices, FIFOs and sockets are left out, and named. On the host of the service long files pass its front by, with a ticket.
A file comes whole or not at all, and so does a new directory here; of one that is sent, files before an interruption stay.`,
  examples: [
    'boxyard cp app.js web:/srv/',
    'boxyard cp web:/var/log ./log',
    'boxyard cp index.html style.css web:/srv/site/',
    'boxyard cp web:notes.txt -',
    'boxyard cp - web:/etc/motd < motd',
  ],
  operations: [
    'readFile',
    'writeFile',
    'readArchive',
    'writeArchive',
    'makeDirectory',
    'statFile',
    'listFiles',
    'createTicket',
  ],
  run: async (context, given, flags) => {
    const preserves = flags['preserve'] === true
    const [to = '', ...sources] = [given.at(-1) ?? '', ...given.slice(0, -1)]
    const target = remotePathOf(to)
    if (sources.some((from) => (remotePathOf(from) === null) === (target === null)))
      throw new UsageError('One side is BOX:PATH, the other is here.')
    const leftOut = new LeftOut()
    const options = { isOneOfSeveral: sources.length > 1, follows: flags['followLink'] === true, leftOut }
    for (const from of sources) {
      const source = remotePathOf(from)
      if (source !== null) await download(context, source, { ...options, to, preserves })
      else if (target !== null) await upload(context, from, { ...options, target })
    }
    leftOut.report()
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
      if (!(await toStdout(await box.readFile(await absolutePathIn(box, remote.path))))) return
    }
  },
}

/** The verbs that copy files. */
export const COPY_VERBS: readonly Verb[] = [copy, cat]

interface CopyOptions {
  isOneOfSeveral: boolean
  /** Whether a source that is a link stands for what it leads to. */
  follows: boolean
  leftOut: LeftOut
}

async function download(
  { boxyard, connection, project }: VerbContext,
  source: RemotePath,
  { to, isOneOfSeveral, follows, leftOut, preserves }: CopyOptions & { to: string; preserves: boolean },
): Promise<void> {
  const box = boxyard.box(project(), source.box)
  const given = await absolutePathIn(box, source.path)
  const stat = (at: string) => describeRemote(boxyard, { project: project(), name: source.box }, at)
  const { path, file } =
    follows || to === '-' ? await followLinks(given, stat) : { path: given, file: await stat(given) }
  if (file === null) throw new Error(`There is no ${path} in ${source.box}.`)
  const kind = file.type === 'directory' || file.type === 'symlink' ? file.type : 'file'
  // As with cp: `DIR/.` is what is in the directory.
  const named = { kind, name: copyNameOf(source), isContents: source.path.endsWith('/.') } as const
  const place = to === '-' ? null : copyPlaceOf(named, localTargetOf(to), isOneOfSeveral)
  if (place?.parents === true) mkdirSync(dirname(place.path), { recursive: true })
  if (kind === 'symlink' && place !== null) {
    const text = file.target ?? ''
    if (Buffer.byteLength(text) !== file.size_bytes)
      throw new Error(`${path} leads to a name that is not UTF-8: copy its directory.`)
    return saveLink(place.path, text)
  }
  const read = (from: BoxHandle): Promise<ReadableStream<Uint8Array>> => from.readFile(path)
  const bytes =
    kind === 'directory'
      ? await box.readArchive(path)
      : await moveByShortestWay(connection, { box, sizeBytes: file.size_bytes }, read)
  const onLeftOut = (below: string, what: string): void =>
    leftOut.add(`${source.box}:${posix.join(source.path, below)}`, what)
  // A tar has no sockets and no devices.
  const naming = kind === 'directory' ? nameSpecialFiles({ boxyard, box }, path, onLeftOut) : null
  // Awaited in the end, also where the copy fails.
  naming?.catch(() => undefined)
  if (place === null) return void (await Promise.all([toStdout(bytes), naming]))
  const mode = Number.parseInt(file.mode, 8)
  const totalBytes = kind === 'file' ? file.size_bytes : null
  const save = kind === 'directory' ? saveTree : saveFile
  await withMeter({ label: basename(place.path), totalBytes }, (meter) =>
    save(place.path, bytes, { mode, preserves, meter, onLeftOut }),
  )
  await naming
}

async function upload(
  { boxyard, connection, project }: VerbContext,
  from: string,
  { target, isOneOfSeveral, follows, leftOut }: CopyOptions & { target: RemotePath },
): Promise<void> {
  const box = boxyard.box(project(), target.box)
  const stat = (at: string) => describeRemote(boxyard, { project: project(), name: target.box }, at)
  const { path: given, file } = await followLinks(await absolutePathIn(box, target.path), stat)
  const endsInSlash = target.path.endsWith('/')
  const kind = file === null ? null : file.type === 'directory' ? 'directory' : 'other'
  if (from === '-' && (kind === 'directory' || endsInSlash))
    throw new UsageError('What comes from stdin needs the name of a file.')
  const source = from === '-' ? STDIN : localSourceOf(from, follows)
  const bare = given.replace(/(?<=.)\/+$/, '')
  const { path, parents, isName } = copyPlaceOf(source, { path: bare, kind, endsInSlash }, isOneOfSeveral)
  // A link in the directory that has the name is replaced.
  const isLink = isName && source.kind === 'file' && (await stat(path))?.type === 'symlink'
  await withMeter({ label: source.name || posix.basename(path), totalBytes: source.sizeBytes }, async (meter) => {
    const onLeftOut = (below: string, what: string): void => leftOut.add(join(from, below), what)
    const where = { boxyard, box, path, parents, meter, onLeftOut }
    if (source.kind === 'directory') return sendTree(where, source.path)
    if (source.kind === 'symlink' || isLink) return sendEntry(where, follows ? realpathSync(from) : from)
    const send = (to: BoxHandle): Promise<void> => sendFile({ ...where, box: to }, from === '-' ? null : from)
    await moveByShortestWay(connection, { box, sizeBytes: source.sizeBytes ?? 0 }, send)
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

/** Returns false once nobody reads it. */
async function toStdout(bytes: ReadableStream<Uint8Array>): Promise<boolean> {
  for await (const piece of bytes) if (!(await writeBytes(process.stdout, piece))) return false
  return true
}

const STDIN: LocalSource = { path: '-', kind: 'file', name: '', isContents: false, sizeBytes: null }
