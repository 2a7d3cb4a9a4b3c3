import type { OutputPiece } from '@boxyard/sdk'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { ExecLine, ExecRecord, Ref } from '../../../api/records.ts'

/** The commands of a box, the newest first. No event tells of them: while some run they are read anew once a minute. */
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

/** Follows the output of a command from the end that its record tells, until both streams have ended. */
export async function* followOutput(record: ExecRecord, signal: AbortSignal): AsyncGenerator<OutputPiece> {
  const path = { project: record.project, name: record.box, exec: record.id }
  const read = async (stream: OutputPiece['stream'], offset: number) => {
    const query = { stream, offset, encoding: 'base64' as const, wait_seconds: 20 }
    return { stream, page: await api().call('getExecOutput', { path, query, signal }) }
  }
  const { stdout, stderr } = record.next_offset
  const reading = new Map([
    ['stdout', read('stdout', stdout)],
    ['stderr', read('stderr', stderr)],
  ])
  while (reading.size > 0) {
    const { stream, page } = await Promise.race(reading.values())
    if (page.data !== '') yield { stream, bytes: Uint8Array.from(atob(page.data), (char) => char.charCodeAt(0)) }
    if (page.end) reading.delete(stream)
    else reading.set(stream, read(stream, page.next_offset))
  }
}

/** Returns how a command stands, in words. */
export function execWords({
  status,
  exit_code: code,
  signal,
}: Pick<ExecLine, 'status' | 'exit_code' | 'signal'>): string {
  if (code !== null) return `${status} with ${code}`
  return signal === null ? status.replaceAll('_', ' ') : `${status.replaceAll('_', ' ')}, ${signal}`
}
