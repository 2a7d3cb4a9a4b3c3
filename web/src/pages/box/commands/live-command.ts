import type { ExecOptions, TerminalStream } from '@boxyard/sdk'
import { useEffect, useRef, useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Ref } from '../../../api/records.ts'
import { createOutputFeed } from './output-feed.ts'
import { NO_OUTPUT, type OutputLog } from './output-log.ts'

/** A command that this page has started. */
export interface LiveCommand {
  line: string
  id: string | null
  log: OutputLog
  /** How it ended; null while it runs. */
  end: string | null
  error: unknown
}

/** Runs lines of the shell in a box, one at a time, with their output as it comes. Leaving the page leaves the command. */
export function useLiveCommand(box: Ref, onChange: () => void) {
  const [live, setLive] = useState<LiveCommand | null>(null)
  const stream = useRef<TerminalStream | null>(null)
  const isLeft = useRef(false)
  useEffect(() => {
    isLeft.current = false
    return () => {
      isLeft.current = true
      stream.current?.close()
    }
  }, [])
  const run = async (line: string, options: ExecOptions): Promise<void> => {
    const change = (part: Partial<LiveCommand>): void => setLive((now) => now && { ...now, ...part })
    setLive({ line, id: null, log: NO_OUTPUT, end: null, error: null })
    const feed = createOutputFeed(NO_OUTPUT, (log) => change({ log }))
    try {
      const opened = await api().box(box.project, box.name).stream(['/bin/sh', '-c', line], options)
      if (isLeft.current) return opened.close()
      stream.current = opened
      change({ id: opened.id })
      onChange()
      for await (const piece of opened) await feed.take(piece)
      const { exitCode, message } = await opened.ended()
      feed.end()
      change({
        end: exitCode === null ? (message ?? 'Nobody knows how it ended.') : `It has ended with code ${exitCode}.`,
      })
    } catch (error) {
      feed.end()
      change({ error, end: 'It is not followed any more.' })
    } finally {
      stream.current = null
      onChange()
    }
  }
  return { live, run, isRunning: live !== null && live.end === null }
}
