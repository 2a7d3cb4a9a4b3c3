import { spawn } from 'node:child_process'
import { createReadStream, createWriteStream, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeStream } from 'node:stream/web'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'
import { UsageError } from '../output/failures.ts'
import type { Verb, VerbContext } from './verb.ts'

const copy: Verb = {
  words: 'cp',
  args: '<from> <to>',
  flags: [],
  summary: 'Copy a file or directory into a box or out of it; - is stdin or stdout',
  examples: ['boxyard cp app.js web:/srv/', 'boxyard cp web:/var/log ./log', 'boxyard cp - web:/etc/motd < motd'],
  operations: ['readFile', 'writeFile', 'readArchive', 'writeArchive', 'statFile'],
  run: async (context, [from = '', to = '']) => {
    const [source, target] = [remoteOf(from), remoteOf(to)]
    if ((source === null) === (target === null)) throw new UsageError('One of both is BOX:PATH, the other a path here.')
    if (source !== null) return download(context, source, to)
    if (target !== null) return upload(context, from, target)
  },
}

const cat: Verb = {
  words: 'cat',
  args: '<box:path...>',
  flags: [],
  summary: 'Print files of boxes',
  examples: ['boxyard cat web:/etc/hostname'],
  operations: ['readFile'],
  run: async ({ boxyard, project }, paths) => {
    for (const text of paths) {
      const remote = remoteOf(text)
      if (remote === null) throw new UsageError(`"${text}" is not BOX:PATH.`)
      await toStdout(await boxyard.box(project(), remote.box).readFile(remote.path))
    }
  },
}

/** The verbs that copy files. */
export const COPY_VERBS: readonly Verb[] = [copy, cat]

interface Remote {
  box: string
  path: string
}

function remoteOf(text: string): Remote | null {
  const found = /^([a-z0-9-]+):(.*)$/.exec(text)
  const [, box = '', path = ''] = found ?? []
  if (found === null) return null
  if (!path.startsWith('/')) throw new UsageError(`"${text}": a path in a box begins with a slash.`)
  return { box, path }
}

async function download({ boxyard, project }: VerbContext, { box, path }: Remote, to: string): Promise<void> {
  const handle = boxyard.box(project(), box)
  const isTree = (await typeOf(boxyard, { project: project(), box, path })) === 'directory'
  if (!isTree) {
    const bytes = await handle.readFile(path)
    if (to === '-') return toStdout(bytes)
    const file = isDirectory(to) ? join(to, basename(path)) : to
    return pipeline(Readable.fromWeb(bytes as NodeStream), createWriteStream(file))
  }
  const archive = await handle.readArchive(path)
  if (to === '-') return toStdout(archive)
  const { mkdirSync } = await import('node:fs')
  const directory = isDirectory(to) ? join(to, basename(path)) : to
  mkdirSync(directory, { recursive: true })
  const tar = spawn('tar', ['-x', '-C', directory], { stdio: ['pipe', 'inherit', 'inherit'] })
  await Promise.all([pipeline(Readable.fromWeb(archive as NodeStream), tar.stdin), ended(tar)])
}

async function upload({ boxyard, project }: VerbContext, from: string, { box, path }: Remote): Promise<void> {
  const handle = boxyard.box(project(), box)
  const isInto = path.endsWith('/') || (await typeOf(boxyard, { project: project(), box, path })) === 'directory'
  if (from !== '-' && isDirectory(from)) return uploadTree(handle, from, isInto ? join(path, basename(from)) : path)
  if (from === '-' && isInto) throw new UsageError('What comes from stdin needs the name of a file.')
  const input = from === '-' ? process.stdin : createReadStream(from)
  const target = isInto ? join(path, basename(from)) : path
  await handle.writeFile(target, webOf(input), { parents: 'true', ...(from === '-' ? {} : { mode: modeOf(from) }) })
}

async function uploadTree(handle: BoxHandle, from: string, path: string): Promise<void> {
  await handle.run(['mkdir', '-p', path])
  const tar = spawn('tar', ['-c', '-C', from, '.'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [report] = await Promise.all([handle.writeArchive(path, webOf(tar.stdout)), ended(tar)])
  const refused = report.refused ?? []
  for (const each of refused) process.stderr.write(`boxyard: ${JSON.stringify(each)}\n`)
  if (refused.length > 0) throw new Error(`${dirname(path)}: not everything was unpacked.`)
}

async function typeOf(boxyard: VerbContext['boxyard'], at: Remote & { project: string }): Promise<string | null> {
  try {
    const path = { project: at.project, name: at.box }
    return (await boxyard.call('statFile', { path, query: { path: at.path } })).type
  } catch (error) {
    if (error instanceof ApiError && error.code === 'file_not_found') return null
    throw error
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o7777).toString(8).padStart(4, '0')
}

function webOf(input: Readable): ReadableStream<Uint8Array> {
  return Readable.toWeb(input) as ReadableStream<Uint8Array>
}

async function toStdout(bytes: ReadableStream<Uint8Array>): Promise<void> {
  await pipeline(Readable.fromWeb(bytes as NodeStream), process.stdout, { end: false })
}

function ended(child: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`tar ended with code ${code}.`))))
  })
}
