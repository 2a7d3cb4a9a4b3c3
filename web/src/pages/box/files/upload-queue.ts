import type { DroppedItem } from './dropped.ts'

/** A file, or an empty directory, on its way into the box. */
export interface ItemUpload extends DroppedItem {
  id: number
  sentBytes: number
  /** `taken` means that a file of its name exists, and is only replaced on request. */
  state: UploadState
  error: unknown
}

export type UploadState = 'waiting' | 'sending' | 'done' | 'taken' | 'failed'

/** The state of all uploads, and the uploads to show. */
export interface UploadsView {
  count: Readonly<Record<UploadState, number>>
  total: number
  sentBytes: number
  totalBytes: number
  shown: readonly ItemUpload[]
}

/** Sends one upload, reports its progress, and throws its error. */
export type SendUpload = (upload: ItemUpload, how: SendHow) => Promise<'done' | 'taken'>

export interface SendHow {
  isReplacing: boolean
  onProgress(sentBytes: number): void
  signal: AbortSignal
}

/** Any number of uploads, some of them in progress. */
export interface UploadQueue {
  add(items: readonly DroppedItem[]): void
  /** Sends one upload again, either replacing the existing file or as before. */
  again(id: number): void
  /** Removes an upload from the list. Aborts it if it is being sent, which leaves nothing. */
  remove(id: number): void
  /** Aborts all current uploads. */
  close(): void
  view(): UploadsView
  watch(listener: () => void): () => void
}

/** Creates a queue that sends two at a time. It publishes changes at most ten times a second, and calls `onIdle` when all are done. */
export function createUploadQueue(send: SendUpload, onIdle: () => void): UploadQueue {
  const uploads = new Map<number, ItemUpload>()
  const stops = new Map<number, AbortController>()
  let nextId = 1
  const news = createNews(() => viewOf([...uploads.values()]))
  const change = (id: number, part: Partial<ItemUpload>): void => {
    const upload = uploads.get(id)
    if (!upload) return
    uploads.set(id, { ...upload, ...part })
    news.come()
  }
  const sendOne = async (id: number, isReplacing: boolean): Promise<void> => {
    const upload = uploads.get(id)
    if (!upload) return
    const stop = new AbortController()
    stops.set(id, stop)
    change(id, { state: 'sending', error: null })
    try {
      const onProgress = (sentBytes: number): void => change(id, { sentBytes })
      const state = await send(upload, { isReplacing, onProgress, signal: stop.signal })
      change(id, state === 'done' ? { state, sentBytes: upload.file?.size ?? 0 } : { state, sentBytes: 0 })
    } catch (error) {
      change(id, { state: 'failed', error })
    } finally {
      stops.delete(id)
    }
  }
  const start = createLine(onIdle)
  return {
    add: (items) => {
      const added = items.map((each): ItemUpload => {
        return { ...each, id: nextId++, sentBytes: 0, state: 'waiting', error: null }
      })
      for (const each of added) uploads.set(each.id, each)
      news.come()
      start(
        added.map(
          ({ id }) =>
            () =>
              sendOne(id, false),
        ),
      )
    },
    again: (id) => {
      const isReplacing = uploads.get(id)?.state === 'taken'
      change(id, { state: 'waiting', error: null })
      start([() => sendOne(id, isReplacing)])
    },
    remove: (id) => {
      stops.get(id)?.abort()
      uploads.delete(id)
      news.come()
    },
    close: () => {
      uploads.clear()
      for (const stop of stops.values()) stop.abort()
    },
    view: news.view,
    watch: news.watch,
  }
}

/** Returns a function that runs work in its order, two at a time. Calls `onIdle` once for all of it, not for each of thousands. */
function createLine(onIdle: () => void): (work: readonly (() => Promise<void>)[]) => void {
  const waiting: (() => Promise<void>)[] = []
  let next = 0
  let running = 0
  const go = async (): Promise<void> => {
    if (running >= AT_ONCE) return
    running++
    for (let each = waiting[next]; each; each = waiting[next]) {
      next++
      await each()
    }
    running--
    if (running > 0) return
    waiting.length = 0
    next = 0
    onIdle()
  }
  return (work) => {
    for (const each of work) waiting.push(each)
    for (let count = 0; count < AT_ONCE; count++) void go()
  }
}

/** Notifies listeners of changes, of the first at once and of others in batches. Creates the view once for each notification. */
function createNews(make: () => UploadsView) {
  const listeners = new Set<() => void>()
  let view = make()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStale = false
  const tell = (): void => {
    isStale = false
    view = make()
    timer = setTimeout(() => {
      timer = undefined
      if (isStale) tell()
    }, GATHER_MS)
    for (const listener of listeners) listener()
  }
  return {
    come: (): void => {
      isStale = true
      if (timer === undefined) tell()
    },
    view: () => view,
    watch: (listener: () => void): (() => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function viewOf(uploads: readonly ItemUpload[]): UploadsView {
  const count = { waiting: 0, sending: 0, done: 0, taken: 0, failed: 0 }
  let [sentBytes, totalBytes] = [0, 0]
  for (const { state, file, sentBytes: sent } of uploads) {
    count[state]++
    sentBytes += sent
    totalBytes += file?.size ?? 0
  }
  return { count, total: uploads.length, sentBytes, totalBytes, shown: shownOf(uploads) }
}

/** Returns the uploads to show: all in their order, or among very many first those that need attention. */
function shownOf(uploads: readonly ItemUpload[]): readonly ItemUpload[] {
  if (uploads.length <= SHOWN_MAX) return uploads
  const shown: ItemUpload[] = []
  for (const state of ['failed', 'taken', 'sending', 'waiting', 'done']) {
    for (const upload of uploads) {
      if (shown.length === SHOWN_MAX) return shown
      if (upload.state === state) shown.push(upload)
    }
  }
  return shown
}

const AT_ONCE = 2
const GATHER_MS = 100
const SHOWN_MAX = 100
