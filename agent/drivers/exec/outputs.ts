import fs from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { projectOwner } from '../../../shared/rotation.ts'
import { createValve, type Valve } from '../../../shared/valve.ts'
import {
  collectOutput,
  createOutputTee,
  createOutputTurns,
  type OutputTaker,
  type OutputTee,
  type UnreadOutput,
} from '../../lib/output/collector.ts'
import { OutputRing, readRingFile } from '../../lib/output/ring.ts'
import type {
  CollectedOutput,
  ExecKey,
  ExecOutputs,
  LiveOutput,
  OutputPiece,
  OutputRange,
  OutputStream,
  SettledOutput,
} from '../../ports/exec/outputs.ts'

export interface ExecOutputsOptions {
  /** The directory of all boxes' files, created with the first. */
  directory: string
  /** Bytes kept per stream. */
  keptBytes: number
  /** Default: `UNREAD_OUTPUT`. */
  unread?: UnreadOutput
}

/** Keeps output in files `<directory>/<box>/<command>.<stream>`, with mode 0600. Up to 128 KiB per stream go into the record. */
export function createExecOutputs({ directory, keptBytes, unread }: ExecOutputsOptions): ExecOutputs {
  const turns = createOutputTurns(unread)
  const read = (key: ExecKey, { stream, offset, maxBytes }: OutputRange): OutputPiece =>
    readRingFile(execFile(directory, key, stream), { capacity: keptBytes, offset, maxBytes })
  return {
    read,
    collect: (key, streams, copied = []) => {
      const ring = (stream: OutputStream): OutputRing => {
        const path = execFile(directory, key, stream)
        const onFile = (): void => makeExecDirectory(directory, key.boxId)
        return new OutputRing({ path, capacity: keptBytes, memoryBytes: RECORD_BYTES, onFile })
      }
      const reading = { turns, owner: projectOwner(key.project, key.boxId) }
      return collectInto(streams, { rings: { stdout: ring('stdout'), stderr: ring('stderr') }, reading }, copied)
    },
    drop: ({ boxId, project }, streams) => {
      const reading = { turns, owner: projectOwner(project, boxId) }
      collectOutput(valvesOf(streams), { sinks: { stdout: NOWHERE, stderr: NOWHERE }, reading })
    },
    follow: (key) => followFiles((range) => read(key, range), keptBytes),
    remove: async (key, streams = STREAMS) => {
      for (const stream of streams) await fs.promises.rm(execFile(directory, key, stream), { force: true })
    },
    removeBox: (boxId) => fs.promises.rm(join(directory, boxId), { recursive: true, force: true }),
    sweep: (known) => sweepFiles(directory, known),
  }
}

/** Returns the path of a command's file below the `directory` of all boxes. The file holds a stream, or the exit note. */
export function execFile(directory: string, { boxId, execId }: ExecKey, part: OutputStream | 'exit'): string {
  return join(directory, boxId, `${execId}.${part}`)
}

/** Makes the directory of a box's commands, mode 0700, unless it exists. */
export function makeExecDirectory(directory: string, boxId: string): void {
  fs.mkdirSync(join(directory, boxId), { recursive: true, mode: 0o700 })
}

function valvesOf({ stdout, stderr }: Record<OutputStream, Readable>): Record<OutputStream, Valve> {
  return { stdout: createValve(stdout), stderr: createValve(stderr) }
}

function collectInto(
  streams: Parameters<ExecOutputs['collect']>[1],
  { rings, reading }: { rings: Record<OutputStream, OutputRing>; reading: OutputTaker['reading'] },
  copied: readonly OutputStream[],
): CollectedOutput {
  const copyOf = (stream: OutputStream): OutputTee | null => (copied.includes(stream) ? createOutputTee() : null)
  const copies = { stdout: copyOf('stdout'), stderr: copyOf('stderr') }
  const { onOutput, settle, released, release } = collectOutput(valvesOf(streams), {
    sinks: rings,
    tees: copies,
    reading,
  })
  const settled = async (ring: OutputRing): Promise<Uint8Array | null> => {
    if (!ring.isInFile) return ring.read(0, RECORD_BYTES).bytes
    await ring.sync()
    return null
  }
  const fileBytesOf = (ring: OutputRing): number => (ring.isInFile ? ring.keptBytes : 0)
  return {
    copies: { stdout: copies.stdout?.stream ?? null, stderr: copies.stderr?.stream ?? null },
    onOutput,
    released,
    release,
    totals: () => ({ stdout: rings.stdout.totalBytes, stderr: rings.stderr.totalBytes }),
    read: ({ stream, offset, maxBytes }) => rings[stream].read(offset, maxBytes),
    settle: async () => {
      await settle()
      const [stdout, stderr] = await Promise.all([settled(rings.stdout), settled(rings.stderr)])
      return { output: { stdout, stderr }, fileBytes: fileBytesOf(rings.stdout) + fileBytesOf(rings.stderr) }
    },
    close: () => {
      rings.stdout.close()
      rings.stderr.close()
    },
  }
}

// Needs no sync, because the shim has synced the files before it reports the end.
function followFiles(read: (range: OutputRange) => OutputPiece, keptBytes: number): LiveOutput {
  const total = (stream: OutputStream): number => read({ stream, offset: 0, maxBytes: 0 }).totalBytes
  const totals = (): Record<OutputStream, number> => ({ stdout: total('stdout'), stderr: total('stderr') })
  return {
    totals,
    read,
    settle: async (): Promise<SettledOutput> => {
      const written = totals()
      const inRecord = (stream: OutputStream): Uint8Array | null =>
        written[stream] > RECORD_BYTES ? null : read({ stream, offset: 0, maxBytes: RECORD_BYTES }).bytes
      const output = { stdout: inRecord('stdout'), stderr: inRecord('stderr') }
      const inFiles = STREAMS.filter((stream) => output[stream] === null)
      const fileBytes = inFiles.reduce((sum, stream) => sum + Math.min(written[stream], keptBytes), 0)
      return { output, fileBytes }
    },
  }
}

async function sweepFiles(directory: string, known: readonly ExecKey[]): Promise<void> {
  const commands = Map.groupBy(known, ({ boxId }) => boxId)
  for (const boxId of await listDirectory(directory)) {
    const ids = new Set(commands.get(boxId)?.map(({ execId }) => execId))
    if (ids.size === 0) {
      await fs.promises.rm(join(directory, boxId), { recursive: true, force: true })
      continue
    }
    for (const name of await listDirectory(join(directory, boxId)))
      if (!ids.has(name.split('.')[0] ?? '')) await fs.promises.rm(join(directory, boxId, name), { force: true })
  }
}

async function listDirectory(path: string): Promise<string[]> {
  try {
    return await fs.promises.readdir(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

const NOWHERE = { totalBytes: 0, isSealed: false, push: () => undefined, seal: () => undefined }
const STREAMS = ['stdout', 'stderr'] as const
const RECORD_BYTES = 128 * 1024
