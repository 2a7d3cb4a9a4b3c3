import { ConnectionError } from '@boxyard/sdk'
import { api } from './client.ts'
import type { Ref } from './records.ts'
import { problemOf, sessionHeaders } from './session.ts'

export interface Upload {
  box: Ref
  /** Query of `writeFile`. */
  query: Record<string, string>
  bytes: Blob
  /** Whether a file that is there already is replaced. */
  isReplacing: boolean
  onProgress(sentBytes: number): void
  signal: AbortSignal
}

/** Writes a file of a box, telling how much has been sent: what fetch does not tell. @throws ApiError, ConnectionError */
export function uploadFile({ box, query, bytes, isReplacing, onProgress, signal }: Upload): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const text = new URLSearchParams(query).toString()
    request.open('PUT', `/v1/projects/${box.project}/boxes/${box.name}/files/write?${text}`)
    const headers = { ...sessionHeaders(), 'content-type': 'application/octet-stream' }
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    if (!isReplacing) request.setRequestHeader('if-none-match', '*')
    request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded))
    request.addEventListener('load', () => {
      if (request.status < 300) resolve()
      else reject(problemOf(request.status, fieldsOf(request.responseText)))
    })
    request.addEventListener('error', () => reject(new ConnectionError('The service cannot be reached.')))
    request.addEventListener('abort', () => reject(signal.reason as Error))
    signal.addEventListener('abort', () => request.abort())
    request.send(bytes)
  })
}

/** What is downloaded: a file, or a tar of what is at a path. */
export interface Download {
  operation: 'readFile' | 'readArchive'
  query: Record<string, string>
  /** Name of the file that it is kept in. */
  fileName: string
}

/** Lets the browser take bytes of a box to its disk, by a ticket that is shown to this origin. @throws ApiError, ConnectionError */
export async function download({ project, name }: Ref, { operation, query, fileName }: Download): Promise<void> {
  const { url } = await api().call('createTicket', { path: { project, name }, body: { operation, query } })
  if (url === undefined) throw new ConnectionError('The ticket came without its address; try again.')
  const { pathname, search } = new URL(url)
  const link = document.createElement('a')
  link.href = pathname + search
  link.download = fileName
  document.body.append(link)
  link.click()
  link.remove()
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
