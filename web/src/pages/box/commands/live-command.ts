import { ConnectionError, type ExecOptions, type OutputPiece, OverflowError, type TerminalStream } from '@boxyard/sdk'
import { useEffect, useRef, useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Patience } from '../../../api/patience.ts'
import type { Ref } from '../../../api/records.ts'
import { createOutputFeed, type OutputFeed } from './output-feed.ts'
import { NO_OUTPUT, type OutputLog } from './output-log.ts'
import { type ExecStream, execSource, execWords, waitForExec } from './queries.ts'

/** A command that this page has started. */
export interface LiveCommand {
  line: string
  id: string | null
  log: OutputLog
  /** How it ended, or null while it runs. */
  end: string | null
  error: unknown
  /** Whether it is reconnecting. */
  isLost: boolean
}

/**
 * Runs shell lines in a box, one at a time, and shows their output live. Leaving the page disconnects from the command. If the front cannot
 * stream, follows a command by its record, and the command keeps running after the page is left.
 */
export function useLiveCommand(box: Ref, { onChange, isStreamed }: { onChange(): void; isStreamed: boolean }) {
  const [live, setLive] = useState<LiveCommand | null>(null)
  const stop = useRef(new AbortController())
  useEffect(() => {
    stop.current = new AbortController()
    return () => stop.current.abort()
  }, [])
  const run = async (line: string, options: ExecOptions): Promise<void> => {
    const { signal } = stop.current
    const change = (part: Partial<LiveCommand>): void => setLive((now) => now && { ...now, ...part })
    setLive({ line, id: null, log: NO_OUTPUT, end: null, error: null, isLost: false })
    const feed = createOutputFeed(NO_OUTPUT, (log) => change({ log }))
    const patience = { signal, onLost: (isLost: boolean) => change({ isLost }) }
    const begin = (id: string | null): void => {
      change({ id })
      onChange()
    }
    try {
      if (!isStreamed) {
        const id = await start(box, line, options)
        begin(id)
        const end = await followRecord(
          { path: { ...box, exec: id }, offsets: { stdout: 0, stderr: 0 }, feed },
          patience,
        )
        feed.end()
        return change({ end })
      }
      const stream = await api()
        .box(box.project, box.name)
        .stream(['/bin/sh', '-c', line], { ...options, resumes: false })
      signal.addEventListener('abort', () => stream.close())
      if (signal.aborted) return stream.close()
      begin(stream.id)
      const end = await followCommand({ box, stream, feed, goesOn: options.noHup === true }, patience)
      feed.end()
      change({ end })
    } catch (error) {
      feed.end()
      change({ error, end: 'No longer followed.', isLost: false })
    } finally {
      onChange()
    }
  }
  return { live, run, isRunning: live !== null && live.end === null }
}

/** Follows a command to its end, and returns that in words. If its stream is lost, follows its record. */
async function followCommand(
  { box, stream, feed, goesOn }: { box: Ref; stream: TerminalStream; feed: OutputFeed; goesOn: boolean },
  patience: Patience,
): Promise<string> {
  const offsets: Record<OutputPiece['stream'], number> = { stdout: 0, stderr: 0 }
  try {
    for await (const piece of stream) {
      offsets[piece.stream] += piece.bytes.length
      await feed.take(piece)
    }
    const { exitCode, message } = await stream.ended()
    return exitCode === null ? (message ?? 'Ended, exit code unknown.') : endWords(exitCode)
  } catch (error) {
    // The service hangs up a command whose client has left, unless the request forbids this.
    const isHungUp = error instanceof OverflowError && !goesOn
    if (!(error instanceof ConnectionError) || stream.id === null || isHungUp) throw error
  }
  patience.signal.throwIfAborted()
  patience.onLost(true)
  const path = { project: box.project, name: box.name, exec: stream.id }
  return followRecord({ path, offsets, feed }, patience)
}

/** Starts a command that keeps running when its client leaves. Returns its id. @throws ApiError, ConnectionError */
async function start({ project, name }: Ref, line: string, options: ExecOptions): Promise<string> {
  const { cwd, user, timeoutSeconds } = options
  const body = {
    ...{ command: ['/bin/sh', '-c', line], no_hup: true },
    ...(cwd === undefined ? {} : { cwd }),
    ...(user === undefined ? {} : { user }),
    ...(timeoutSeconds === undefined ? {} : { timeout_seconds: timeoutSeconds }),
  }
  const { id } = await api().call('createExec', { path: { project, name }, body })
  return id
}

/** Follows a command by its record to its end, which it returns in words. @throws ApiError, the reason of the signal */
async function followRecord(
  {
    path,
    offsets,
    feed,
  }: { path: ExecStream['path']; offsets: Record<OutputPiece['stream'], number>; feed: OutputFeed },
  patience: Patience,
): Promise<string> {
  const follow = (name: OutputPiece['stream']): Promise<void> =>
    execSource({ path, stream: name, offset: offsets[name] })({ ...feed, ...patience })
  await Promise.all([follow('stdout'), follow('stderr')])
  const record = await waitForExec(path, patience)
  return record.exit_code === null ? `Ended: ${execWords(record)}.` : endWords(record.exit_code)
}

function endWords(code: number): string {
  return `Exited (${code}).`
}
