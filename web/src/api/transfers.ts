import { ConnectionError, toApiError } from '@boxyard/sdk'
import { api } from './client.ts'
import { unreachableWords } from './error-words.ts'
import { ownPath } from './own-path.ts'
import type { Ref } from './records.ts'
import { noteRefusal, sessionHeaders, sessionKey } from './session.ts'

export interface Upload {
  box: Ref
  /** Query of `writeFile`. */
  query: Record<string, string>
  bytes: Blob
  /** Whether to replace an existing file. */
  isReplacing: boolean
  onProgress(sentBytes: number): void
  signal: AbortSignal
}

/** Writes a file of a box, and reports how many bytes have been sent. @throws ApiError, ConnectionError */
export async function uploadFile({ box, query, bytes, isReplacing, onProgress, signal }: Upload): Promise<void> {
  const path = `/v1/projects/${box.project}/boxes/${box.name}/files/write?${new URLSearchParams(query).toString()}`
  const headers = { 'content-type': 'application/octet-stream', ...(isReplacing ? {} : { 'if-none-match': '*' }) }
  await sendBytes({ method: 'PUT', path, headers, bytes, onProgress, signal })
}

/** Bytes that a request of the session carries. */
export interface BytesToSend extends Pick<Upload, 'bytes' | 'onProgress' | 'signal'> {
  method: 'PUT' | 'POST'
  /** With its query. */
  path: string
  headers: Readonly<Record<string, string>>
}

/** The answer of the service. */
export interface SentAnswer {
  status: number
  body: Record<string, unknown>
  headers: Headers
}

/** Sends bytes, and reports how many have been sent, which fetch cannot do. @throws ApiError, ConnectionError */
export function sendBytes({ method, path, headers, bytes, onProgress, signal }: BytesToSend): Promise<SentAnswer> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const key = sessionKey()
    request.open(method, path)
    for (const [name, value] of Object.entries({ ...sessionHeaders(), ...headers }))
      request.setRequestHeader(name, value)
    request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded))
    request.addEventListener('load', () => {
      const body = fieldsOf(request.responseText)
      if (request.status >= 300) {
        const error = toApiError(request.status, body)
        if (request.status === 401) noteRefusal(key, error)
        return reject(error)
      }
      const operation = request.getResponseHeader('operation-location')
      resolve({
        status: request.status,
        body,
        headers: new Headers(operation === null ? {} : { 'operation-location': operation }),
      })
    })
    request.addEventListener('error', () => reject(new ConnectionError(unreachableWords())))
    request.addEventListener('abort', () => reject(signal.reason as Error))
    signal.addEventListener('abort', () => request.abort())
    request.send(bytes)
  })
}

/** A download: a file, or a tar of a path. */
export interface Download {
  operation: 'readFile' | 'readArchive'
  query: Record<string, string>
  /** Name of the downloaded file. */
  fileName: string
}

/** Makes the browser download bytes of a box, with a ticket for this origin. @throws ApiError, ConnectionError */
export async function download({ project, name }: Ref, { operation, query, fileName }: Download): Promise<void> {
  const { url } = await api().call('createTicket', { path: { project, name }, body: { operation, query } })
  if (url === undefined) throw new Error('The ticket came without its address. Try again.')
  const { pathname, search } = new URL(url)
  if (ownPath(pathname) !== pathname) throw new Error('The ticket leads to another address. Try again.')
  save(pathname + search, fileName)
}

/** Makes the browser download bytes of this page. */
export function saveBlob(blob: Blob, fileName: string): void {
  const address = URL.createObjectURL(blob)
  save(address, fileName)
  setTimeout(() => URL.revokeObjectURL(address), REVOKED_AFTER_MS)
}

function save(address: string, fileName: string): void {
  const link = document.createElement('a')
  link.href = address
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

/** Long enough for a browser to start the download. */
const REVOKED_AFTER_MS = 60_000
