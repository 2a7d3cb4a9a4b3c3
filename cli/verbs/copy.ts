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
import { isSpecialKind, LeftOut, nameSpecialFiles } from '../files/special-files.ts'
import { sendEntry, sendFile, sendTree } from '../files/uploading.ts'
import { writeBytes } from '../output/byte-output.ts'
import { UsageError } from '../output/failures.ts'
import { createMeter, type Meter } from '../output/meter.ts'
import type { Verb, VerbContext } from './verb.ts'

const copy: Verb = {
  words: 'cp',
  args: '<path> <path...>',
  flags: [
    ['-r, --recursive', 'accepted for compatibility: cp always copies directories with their contents'],
    ['-L, --follow-link', 'if a source is a link, copy its target'],
    ['--preserve', 'keep set-user-id, set-group-id and sticky bits, and modes beyond the umask'],
  ],
  summary: 'Copy files and directories to or from a box (BOX:PATH). The last path is the target, - is stdin or stdout',
  details: `A relative path in a box starts at /root.
As in docker cp, an existing target directory, or a link to one, receives the source under its name. DIR/. copies the contents of DIR.
A link stays a link. To copy its target, add -L, or a slash to the source.
A slash at the end of the target creates a missing directory for files, links and several sources. cp creates no other directories.
In a box, copies belong to root and keep their modes. On this machine, the umask applies, and without --preserve cp drops
set-user-id, set-group-id and sticky bits. Unlike docker cp, a file or DIR/. replaces a link of the same name on this machine
and does not write through it.
Devices, FIFOs and sockets are skipped and listed. If one of them is a source itself, the exit code is 1. A pipe from the shell, as in
cp <(COMMAND) BOX:PATH, is read to its end like stdin. On the host of the service, long files bypass the front with a ticket.
Each file arrives completely or not at all, and so does a new directory on this machine. An interrupted upload of a directory
keeps the files that it has sent.`,
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
      throw new UsageError(
        'cp copies between a box and this machine: write BOX:PATH for either the sources or the target.',
      )
    const leftOut = new LeftOut()
    const options = { isOneOfSeveral: sources.length > 1, follows: flags['followLink'] === true, leftOut }
    try {
      for (const from of sources) {
        const source = remotePathOf(from)
        if (source !== null) await download(context, source, { ...options, to, preserves })
        else if (target !== null) await upload(context, from, { ...options, target })
      }
    } finally {
      leftOut.report()
    }
    return leftOut.hasSource ? 1 : 0
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

/** The commands that copy files. */
export const COPY_VERBS: readonly Verb[] = [copy, cat]

interface CopyOptions {
  isOneOfSeveral: boolean
  /** Whether to copy the target of a source that is a link. */
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
  if (file === null) throw new Error(`${source.box} has no file ${path}.`)
  if (isSpecialKind(file.type)) return leftOut.addSource(`${source.box}:${source.path}`, file.type)
  const kind = file.type === 'directory' || file.type === 'symlink' ? file.type : 'file'
  // As with cp, `DIR/.` means the contents of the directory.
  const named = { kind, name: copyNameOf(source), isContents: source.path.endsWith('/.') } as const
  const place = to === '-' ? null : copyPlaceOf(named, localTargetOf(to), isOneOfSeveral)
  if (place?.parents === true) mkdirSync(dirname(place.path), { recursive: true })
  if (kind === 'symlink' && place !== null) {
    const text = file.target ?? ''
    if (Buffer.byteLength(text) !== file.size_bytes)
      throw new Error(`${path} is a link to a name that is not UTF-8. Copy its directory instead.`)
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
  // Awaited at the end, even if the copy fails.
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
  const source = from === '-' ? STDIN : localSourceOf(from, follows)
  // Not read, because a FIFO waits for its writer and a device may have no end.
  if (source.special !== null) return leftOut.addSource(from, source.special)
  const box = boxyard.box(project(), target.box)
  const stat = (at: string) => describeRemote(boxyard, { project: project(), name: target.box }, at)
  const { path: given, file } = await followLinks(await absolutePathIn(box, target.path), stat)
  const endsInSlash = target.path.endsWith('/')
  const kind = file === null ? null : file.type === 'directory' ? 'directory' : 'other'
  if (from === '-' && (kind === 'directory' || endsInSlash))
    throw new UsageError('Input from stdin needs a file name as the target, such as BOX:/srv/FILE.')
  const bare = given.replace(/(?<=.)\/+$/, '')
  const { path, parents, isName } = copyPlaceOf(source, { path: bare, kind, endsInSlash }, isOneOfSeveral)
  // Replaces a link in the directory that has the name.
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

/** Returns false once the reader has left. */
async function toStdout(bytes: ReadableStream<Uint8Array>): Promise<boolean> {
  for await (const piece of bytes) if (!(await writeBytes(process.stdout, piece))) return false
  return true
}

const STDIN: LocalSource = { path: '-', kind: 'file', name: '', isContents: false, sizeBytes: null, special: null }
