import { ApiError } from '@boxyard/sdk'
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { api } from '../../../api/client.ts'
import type { Ref } from '../../../api/records.ts'
import { uploadFile } from '../../../api/transfers.ts'
import { useFilesRefresh } from './file-dialogs.tsx'
import { childOf, type FilePlace, placeQuery } from './place.ts'
import { createUploadQueue, type SendUpload, type UploadQueue, type UploadsView } from './upload-queue.ts'

/** The uploads into a directory, and their states. */
export interface Uploads {
  queue: UploadQueue
  view: UploadsView
}

/** Sends files into a directory, with their parent directories, and reports the progress. */
export function useUploads(box: Ref, place: FilePlace): Uploads {
  const refresh = useRef<() => Promise<void>>(undefined)
  refresh.current = useFilesRefresh(box)
  const { project, name } = box
  const { text, base64 } = place
  const queue = useMemo(() => {
    const send = senderTo({ project, name }, { text, base64 })
    return createUploadQueue(send, () => void refresh.current?.())
  }, [project, name, text, base64])
  useEffect(() => () => queue.close(), [queue])
  return { queue, view: useSyncExternalStore(queue.watch, queue.view) }
}

function senderTo(box: Ref, place: FilePlace): SendUpload {
  return async ({ path, file }, { isReplacing, onProgress, signal }) => {
    const query = placeQuery(childOf(place, { path, path_base64: null }))
    if (file === null) {
      await api().call('makeDirectory', { path: { ...box }, body: { ...query, parents: true }, signal })
      return 'done'
    }
    try {
      await uploadFile({ box, query: { ...query, parents: 'true' }, bytes: file, isReplacing, onProgress, signal })
      return 'done'
    } catch (error) {
      if (error instanceof ApiError && error.code === 'precondition_failed') return 'taken'
      throw error
    }
  }
}
