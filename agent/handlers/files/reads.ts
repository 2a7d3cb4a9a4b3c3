import type { ServiceError } from '../../../shared/errors.ts'
import { readWhole } from '../../../shared/http/gathered-pieces.ts'
import { refusal } from '../../../shared/refusals.ts'
import { isKnownEtag } from '../../core/common/preconditions.ts'
import type { FileFacts, FilePath, OpenFile } from '../../ports/files/files.ts'
import type { Call, Handlers, Reply } from '../common/call.ts'
import { answerBytesMaxOf, redirectToDataAddress } from '../common/data-address-redirect.ts'
import { type ByteRange, rangeOf } from './byte-range.ts'
import { type FileHandlerDeps, queryPath } from './files.ts'
import { readRootOf } from './roots.ts'
import { viewFile } from './view.ts'

type ReadHandlers = Pick<Handlers, 'readFile' | 'readArchive'>

/** Handles reads of file content. Redirects an answer that a function cannot carry to the data address. */
export function createFileReadHandlers(deps: FileHandlerDeps): ReadHandlers {
  return {
    readFile: async (call) => {
      const path = queryPath(call.query)
      const root = await readRootOf(deps, call)
      const file = await deps.files.open(root, path)
      try {
        return await readReply(file, { path, call, redirect: () => redirectToDataAddress(deps, call, root.boxId) })
      } catch (error) {
        file.close()
        throw error
      }
    },
    readArchive: async (call) => {
      const root = await readRootOf(deps, call)
      // The length of an archive is not known before it is made.
      if (answerBytesMaxOf(call) !== null) return redirectToDataAddress(deps, call, root.boxId)
      const bytes = await deps.files.pack(root, queryPath(call.query))
      return { body: null, bytes, headers: { 'content-type': 'application/x-tar' } }
    },
  }
}

interface Reading {
  path: FilePath
  call: Call<'readFile'>
  redirect(): Reply
}

async function readReply(file: OpenFile, { path, call, redirect }: Reading): Promise<Reply> {
  const { facts } = file
  const { etag, sizeBytes } = facts
  if (call.ifNoneMatch !== null && isKnownEtag(call.ifNoneMatch, etag)) {
    file.close()
    return { status: 304, body: null, etag }
  }
  if (isJsonWanted(call.accept)) return jsonReply(file, path)
  const range = rangeOf(call.range, sizeBytes)
  const { start, end } = range ?? { start: 0, end: sizeBytes }
  const most = answerBytesMaxOf(call)
  if (most !== null && end - start > most) {
    file.close()
    return redirect()
  }
  const headers: Record<string, string> = {
    'content-type': 'application/octet-stream',
    'content-length': String(end - start),
    'accept-ranges': 'bytes',
    'last-modified': new Date(facts.modifiedAt).toUTCString(),
    // The content of a box must not run as script of this origin.
    'content-disposition': 'attachment',
  }
  if (range !== null) headers['content-range'] = `bytes ${start}-${end - 1}/${sizeBytes}`
  const bytes = await bytesOf(file, { start, end })
  return { status: range === null ? 200 : 206, body: null, bytes, headers, etag }
}

async function jsonReply(file: OpenFile, path: FilePath): Promise<Reply> {
  const { facts } = file
  if (facts.sizeBytes > FILE_JSON_BYTES) throw tooLarge(facts)
  const range = { start: 0, end: facts.sizeBytes }
  const bytes = await readWhole(file.read(range), { maxBytes: FILE_JSON_BYTES, tooLong: () => tooLarge(facts) })
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(bytes)
  const content = isText
    ? { content: text, encoding: 'utf-8' }
    : { content: bytes.toString('base64'), encoding: 'base64' }
  return { body: { ...viewFile(path, facts), ...content }, etag: facts.etag }
}

// Closes a partly read file even if its reader never starts. Reads the first piece before the answer begins, so that a file that
// cannot be read is answered with an error.
async function bytesOf(file: OpenFile, range: ByteRange): Promise<AsyncIterable<Uint8Array> | Uint8Array> {
  if (file.whole !== null) return file.whole.subarray(range.start, range.end)
  const iterator = file.read(range)[Symbol.asyncIterator]()
  const ahead: IteratorResult<Uint8Array>[] = [await iterator.next()]
  const next = async (): Promise<IteratorResult<Uint8Array>> => ahead.pop() ?? iterator.next()
  const end = async (): Promise<IteratorResult<Uint8Array>> => {
    await iterator.return?.()
    file.close()
    return { done: true, value: undefined }
  }
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) }
}

// A client that accepts any type gets the bytes.
function isJsonWanted(accept: string | null): boolean {
  return accept !== null && /(^|[ ,])application\/json([ ,;]|$)/.test(accept) && !accept.includes('*/*')
}

function tooLarge({ sizeBytes }: FileFacts): ServiceError {
  const why = `The file has ${sizeBytes} bytes, more than JSON carries (${FILE_JSON_BYTES}).`
  return refusal('body_too_large', [why, 'Ask for its bytes (`Accept: application/octet-stream`).'])
}

/** Longest file that is answered as JSON, in bytes. */
export const FILE_JSON_BYTES = 1024 * 1024
