import { ApiError } from '@boxyard/sdk'
import { useEffect, useReducer, useRef } from 'react'
import type { Ref } from '../../../api/records.ts'
import { uploadFile } from '../../../api/transfers.ts'
import type { DroppedFile } from './dropped.ts'
import { useFilesRefresh } from './file-dialogs.tsx'
import { childOf, type FilePlace, placeQuery } from './place.ts'

/** A file on its way into the box. */
export interface FileUpload extends DroppedFile {
  id: number
  sentBytes: number
  /** `taken`: a file of its name is there, and is not replaced unless it is asked for. */
  state: 'waiting' | 'sending' | 'done' | 'taken' | 'failed'
  error: unknown
}

type Change = { add: FileUpload[] } | { id: number; part: Partial<FileUpload> } | { remove: number }

/** Sends files into a directory, two at a time, and tells how far each is. */
export function useUploads(box: Ref, place: FilePlace) {
  const [uploads, change] = useReducer(reduceUploads, [])
  const refresh = useFilesRefresh(box)
  const work = useRef({ nextId: 1, waiting: [] as (() => Promise<void>)[], running: 0 })
  const stops = useRef(new Map<number, AbortController>())
  useEffect(() => {
    const running = stops.current
    return () => {
      for (const stop of running.values()) stop.abort()
    }
  }, [])
  const send = async (upload: FileUpload, isReplacing: boolean): Promise<void> => {
    const { id, file, path } = upload
    const stop = stops.current.get(id)
    if (!stop || stop.signal.aborted) return
    change({ id, part: { state: 'sending', error: null } })
    const onProgress = (sentBytes: number): void => change({ id, part: { sentBytes } })
    const query = { ...placeQuery(childOf(place, { path, path_base64: null })), parents: 'true' }
    try {
      await uploadFile({ box, query, bytes: file, isReplacing, onProgress, signal: stop.signal })
      change({ id, part: { state: 'done', sentBytes: file.size } })
    } catch (error) {
      const isTaken = error instanceof ApiError && error.code === 'precondition_failed'
      if (!stop.signal.aborted) change({ id, part: { state: isTaken ? 'taken' : 'failed', error } })
    }
  }
  const start = (upload: FileUpload, isReplacing: boolean): void => {
    stops.current.set(upload.id, new AbortController())
    work.current.waiting.push(() => send(upload, isReplacing))
    // Once for all, not for each of thousands.
    void runWaiting(work.current).then((isLast) => (isLast ? refresh() : undefined))
  }
  return {
    uploads,
    add: (dropped: readonly DroppedFile[]): void => {
      const added = dropped.map((each) => {
        return { ...each, id: work.current.nextId++, sentBytes: 0, state: 'waiting' as const, error: null }
      })
      change({ add: added })
      for (const upload of added) start(upload, false)
    },
    /** Sends one once more: in the place of what is there, or as before. */
    again: (upload: FileUpload): void => start(upload, upload.state === 'taken'),
    /** Takes one off the list; one that is being sent is broken off, and leaves nothing. */
    remove: (id: number): void => {
      stops.current.get(id)?.abort()
      change({ remove: id })
    },
  }
}

/** Does what waits; returns true if that was the end of all. */
async function runWaiting(work: { waiting: (() => Promise<void>)[]; running: number }): Promise<boolean> {
  if (work.running >= AT_ONCE) return false
  work.running++
  for (let next = work.waiting.shift(); next; next = work.waiting.shift()) await next()
  work.running--
  return work.running === 0
}

function reduceUploads(uploads: readonly FileUpload[], change: Change): readonly FileUpload[] {
  if ('add' in change) return [...uploads, ...change.add]
  if ('remove' in change) return uploads.filter(({ id }) => id !== change.remove)
  return uploads.map((upload) => (upload.id === change.id ? { ...upload, ...change.part } : upload))
}

const AT_ONCE = 2
