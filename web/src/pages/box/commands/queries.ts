import type { OutputPiece } from '@boxyard/sdk'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import { type Patience, readPersistently } from '../../../api/patience.ts'
import type { ExecLine, ExecRecord, Ref } from '../../../api/records.ts'
import { bytesOf, LONGEST_PIECE, readAllPages } from './output-download.ts'
import type { OutputSource } from './output-follower.ts'

/** The commands of a box, newest first. No event reports them, so they are reloaded once a minute while some run. */
export const execsQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['execs', project, name],
    queryFn: async ({ signal }) => {
      const execs: ExecLine[] = []
      const input = { path: { project, name }, query: { max_results: 1000 }, signal }
      for await (const exec of api().list('listExecs', input)) execs.push(exec)
      return execs.toReversed()
    },
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => status === 'running') === true ? 60_000 : false),
  })

/** A command with the end of its output. */
export const execQuery = ({ project, name }: Ref, exec: string) =>
  queryOptions({
    queryKey: ['execs', project, name, exec],
    queryFn: ({ signal }) => api().call('getExec', { path: { project, name, exec }, signal }),
    staleTime: 0,
  })

/** A stream of a command, from an offset in bytes on. */
export interface ExecStream {
  /** The path of the command. */
  path: { project: string; name: string; exec: string }
  stream: OutputPiece['stream']
  offset: number
}

/** Returns a follower of a stream of a command to its end, across restarts of the service. */
export function execSource(from: ExecStream): OutputSource {
  let { offset } = from
  return async ({ take, cut, ...patience }) => {
    for (;;) {
      const page = await readPersistently(() => readPage({ ...from, offset }, patience.signal), patience)
      if (page.truncated) cut()
      offset = page.next_offset
      if (page.data !== '') await take({ stream: from.stream, bytes: bytesOf(page.data) })
      if (page.end) return
    }
  }
}

/** Waits for the end of a command, across restarts of the service. @throws ApiError, the reason of the signal */
export async function waitForExec(path: ExecStream['path'], patience: Patience): Promise<ExecRecord> {
  const query = { wait_seconds: 20 }
  for (;;) {
    const record = await readPersistently(
      () => api().call('getExec', { path, query, signal: patience.signal }),
      patience,
    )
    if (record.status !== 'running') return record
  }
}

function readPage({ path, stream, offset }: ExecStream, signal: AbortSignal) {
  const query = { stream, offset, encoding: 'base64' as const, wait_seconds: 20 }
  return api().call('getExecOutput', { path, query, signal })
}

/** Reads all stored output of a stream of a command. @throws ApiError, ConnectionError */
export function readAllOfExec({ path, stream }: Omit<ExecStream, 'offset'>): Promise<Blob> {
  return readAllPages((offset) => {
    const query = { stream, offset, encoding: 'base64' as const, max_bytes: LONGEST_PIECE }
    return api().call('getExecOutput', { path, query })
  })
}

/** Returns the state of a command in words. */
export function execWords({
  status,
  exit_code: code,
  signal,
}: Pick<ExecLine, 'status' | 'exit_code' | 'signal'>): string {
  if (code !== null) return `${status} (${code})`
  return signal === null ? status.replaceAll('_', ' ') : `${status.replaceAll('_', ' ')}, ${signal}`
}
